//! `/` in a browser.

use crate::support::Server;

#[test]
fn the_bare_address_is_a_page_in_a_browser_and_unknown_to_programs() {
    let server = Server::start();
    let browser = [("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")];
    let visitor = server.as_token("");
    let page = visitor.raw("GET", "/", &browser, b"").expect(200);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("style-src 'self'"), "{policy}");
    for inline in ["<style", "<script", " style=", " onclick="] {
        assert!(!page.text.contains(inline), "{inline} would be refused by the policy");
    }
    for link in page.text.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        visitor.raw("GET", link, &browser, b"").expect(200);
    }
    for link in ["/admin", "/docs", "/v2/openapi.json"] {
        assert!(page.text.contains(&format!("href=\"{link}\"")), "{link}");
    }
    assert!(page.text.contains("Nobody can sign in yet"), "{}", page.text);
    let head = visitor.raw("HEAD", "/", &browser, b"").expect(200);
    assert_eq!((head.text.as_str(), head.header("content-type")), ("", page.header("content-type")));
    for accept in ["application/json", "*/*"] {
        let reply = visitor.raw("GET", "/", &[("accept", accept)], b"");
        assert_eq!((reply.outcome(), reply.message()), ("404 NOT_FOUND".into(), visitor.get("/").message()));
    }
    assert_eq!(visitor.raw("GET", "/nowhere", &browser, b"").outcome(), "404 NOT_FOUND");
    assert_eq!(visitor.raw("POST", "/", &browser, b"{}").outcome(), "404 NOT_FOUND");
}
