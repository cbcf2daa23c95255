// Served without line ends, indentation and this comment; see script.rs.
!function(w,d){
  var n=navigator,l=location,h=history,p,r=d.referrer,e=new URL("events",d.currentScript.src).href;
  /*check*/
  function v(){
    if(p===l.pathname)return;
    p=l.pathname;
    var u=l.href.split("#")[0],b=JSON.stringify({name:"pageview",url:u,referrer:r,screen_width:screen.width});
    n.sendBeacon&&n.sendBeacon(e,b)||fetch(e,{method:"POST",body:b,keepalive:true});
    r=u
  }
  var f=h.pushState;
  h.pushState=function(){f.apply(h,arguments);v()};
  w.addEventListener("popstate",v);
  w.addEventListener("pageshow",function(a){if(a.persisted){p=0;v()}});
  d.prerendering?d.addEventListener("prerenderingchange",v,{once:true}):v()
}(window,document);
