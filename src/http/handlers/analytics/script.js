// Served without line ends, indentation and this comment; see script.rs.
!function(w,d){
  var n=navigator,l=location,h=history,p,r=d.referrer,e=d.currentScript.src;
  w.bindery=function(){};
  /*check*/
  function s(o,a){
    var b=JSON.stringify(o),u=new URL(a||"events",e).href;
    n.sendBeacon&&n.sendBeacon(u,b)||fetch(u,{method:"POST",body:b,keepalive:true})
  }
  function u(){return l.href.split("#")[0]}
  function v(){
    if(p===l.pathname)return;
    p=l.pathname;
    s({name:"pageview",url:u(),referrer:r,screen_width:screen.width});
    r=u()
  }
  function c(a){
    a=a.target.closest&&a.target.closest("[data-search]");
    a=a?a.dataset.search.split(" "):[];
    a[0]&&s({id:a[1],position:+a[2]},"searches/"+a[0]+"/click")
  }
  w.bindery=function(a,b){s({name:a,url:u(),properties:b||{}})};
  var f=h.pushState,g=w.addEventListener;
  h.pushState=function(){f.apply(h,arguments);v()};
  g("popstate",v);
  g("pageshow",function(a){if(a.persisted){p=0;v()}});
  g("click",c,1);
  g("auxclick",c,1);
  d.prerendering?d.addEventListener("prerenderingchange",v,{once:true}):v()
}(window,document);
