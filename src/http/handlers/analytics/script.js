// Served without line ends, indentation and this comment; see script.rs.
!function(w,d){
  var n=navigator,l=location,h=history,p,r=d.referrer,e=new URL("events",d.currentScript.src).href;
  w.bindery=function(){};
  /*check*/
  function s(o){
    var b=JSON.stringify(o);
    n.sendBeacon&&n.sendBeacon(e,b)||fetch(e,{method:"POST",body:b,keepalive:true})
  }
  function u(){return l.href.split("#")[0]}
  function v(){
    if(p===l.pathname)return;
    p=l.pathname;
    s({name:"pageview",url:u(),referrer:r,screen_width:screen.width});
    r=u()
  }
  w.bindery=function(a,b){s({name:a,url:u(),properties:b||{}})};
  var f=h.pushState;
  h.pushState=function(){f.apply(h,arguments);v()};
  w.addEventListener("popstate",v);
  w.addEventListener("pageshow",function(a){if(a.persisted){p=0;v()}});
  d.prerendering?d.addEventListener("prerenderingchange",v,{once:true}):v()
}(window,document);
