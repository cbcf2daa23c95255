//! The recipe for pictures in a browser: the page of `API.md` as it is printed there.

use serde_json::{Value, json};

use super::demonstration;
use super::document::html_of;
use crate::browser::{Browser, Pages, chromium};

/// The number of the recipe.
const RECIPE: &str = "10.13";

/// The package that the page imports.
const MODULES: &str =
    "<script type=\"importmap\">{\"imports\": {\"thumbhash\": \"data:text/javascript;MODULE\"}}</script>";

/// Waits for the picture of a page, and reports what the browser chose.
const REPORT: &str = r#"<script type="module">
const image = document.querySelector("picture img");
await image.decode();
const style = getComputedStyle(image);
parent.postMessage({
  chosen: image.currentSrc, alt: image.alt, shape: image.clientWidth / image.clientHeight,
  placeholder: style.backgroundImage.slice(0, 24), sources: document.querySelectorAll("source").length,
});
</script>"#;

/// Shows the page in frames of two widths.
const FRAMES: &str = r#"<!doctype html><iframe src="/300" width="300" height="300"></iframe><iframe src="/700" width="700" height="500"></iframe>
<script>
const found = [];
addEventListener("message", ({ data }) => {
  if (found.push(data) === 2) fetch("/done?" + encodeURIComponent(JSON.stringify(found)));
});
</script>"#;

#[test]
fn a_browser_shows_the_picture_in_the_width_that_it_needs() {
    let Some(chromium) = chromium("the recipe for pictures") else { return };
    let server = demonstration();
    let mut media =
        server.get("/v2/resources/media?filter[file_name]=noon.jpg&variant=de").expect(200).data()[0]["attributes"]
            .clone();
    media["url"] = json!(format!("{}{}", server.address(), media["url"].as_str().unwrap()));
    let module =
        percent_encoding::utf8_percent_encode(include_str!("thumbhash.js"), percent_encoding::NON_ALPHANUMERIC);
    let modules = MODULES.replace("MODULE", &format!("charset=utf-8,{module}"));
    let recipe = html_of(RECIPE);
    let page = format!("<!doctype html>{modules}<script>const media = {media};</script>{recipe}{REPORT}");
    let pages = Pages::serve(move |path| if path == "/" { FRAMES.to_owned() } else { page.clone() });
    let address = format!("http://127.0.0.1:{}/", pages.port);
    let _browser = Browser::open(&chromium, &address, None, &json!({}));
    let mut found: Vec<Value> = pages.wait().as_array().unwrap().clone();
    let chosen = |shown: &Value| shown["chosen"].as_str().unwrap().to_owned();
    found.sort_by_key(chosen);
    for (shown, width) in found.iter().zip([320, 960]) {
        assert!(chosen(shown).ends_with(&format!("&w={width}&format=avif")), "{width}: {shown}");
        assert_eq!(shown["alt"], "Grüne Hügel unter klarem Himmel");
        assert!((shown["shape"].as_f64().unwrap() - 1.5).abs() < 0.02, "{shown}");
        assert_eq!((&shown["placeholder"], &shown["sources"]), (&json!("url(\"data:image/png;base"), &json!(2)));
    }
}
