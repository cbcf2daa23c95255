//! User agents: which are robots, and the device and the browser of those that are none.
//!
//! Robots are those on `isbot`'s list, woothee's crawlers, what names itself a program below, and what sends no user
//! agent at all. Browsers are woothee's. Devices are told by the few words that browsers have agreed on.

use std::collections::HashMap;

/// How many user agents are remembered, so that the usual ones are looked at once.
const REMEMBERED: usize = 4096;

/// What no list of robots has, and no browser says: libraries, feed readers, monitors and headless browsers.
const PROGRAMS: [&str; 26] = [
    "feedparser",
    "feedburner",
    "feedly",
    "rss",
    "chef client",
    "cfnetwork",
    "headless",
    "phantomjs",
    "puppeteer",
    "playwright",
    "python-",
    "aiohttp",
    "okhttp",
    "axios/",
    "node-fetch",
    "go-http-client",
    "libwww",
    "wget",
    "curl/",
    "monitor",
    "crawl",
    "spider",
    "slurp",
    "scrapy",
    "chatgpt-user",
    "ureq",
];

/// What a user agent tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Agent {
    /// `desktop`, `mobile`, `tablet`, or `unknown`.
    pub(super) device: &'static str,
    /// The browser's name, or `unknown`.
    pub(super) browser: &'static str,
}

/// Reads user agents.
pub(super) struct Agents {
    robots: isbot::Bots,
    parser: woothee::parser::Parser,
    remembered: HashMap<String, Option<Agent>>,
}

impl Agents {
    pub(super) fn new() -> Agents {
        Agents { robots: isbot::Bots::default(), parser: woothee::parser::Parser::new(), remembered: HashMap::new() }
    }

    /// What the user agent tells; nothing if it is a robot's.
    pub(super) fn read(&mut self, user_agent: &str) -> Option<Agent> {
        if let Some(agent) = self.remembered.get(user_agent) {
            return *agent;
        }
        let agent = self.look_at(user_agent);
        if self.remembered.len() >= REMEMBERED {
            self.remembered.clear();
        }
        self.remembered.insert(user_agent.to_owned(), agent);
        agent
    }

    fn look_at(&self, user_agent: &str) -> Option<Agent> {
        let lower = user_agent.to_ascii_lowercase();
        let names_itself = || PROGRAMS.iter().any(|program| lower.contains(program));
        if lower.trim().is_empty() || lower.trim() == "-" || names_itself() || self.robots.is_bot(user_agent) {
            return None;
        }
        let parsed = self.parser.parse(user_agent);
        let category = parsed.as_ref().map_or("", |parsed| parsed.category);
        if category == "crawler" {
            return None;
        }
        let browser = parsed.as_ref().map_or("", |parsed| parsed.name);
        Some(Agent { device: device(user_agent, category), browser: browser_name(browser) })
    }
}

fn device(user_agent: &str, category: &str) -> &'static str {
    let says = |words: &[&str]| words.iter().any(|word| user_agent.contains(word));
    let is_phone = says(&["Mobi", "iPhone", "iPod", "Windows Phone", "BlackBerry", "Opera Mini"]);
    if says(&["iPad", "PlayBook", "Kindle"]) || says(&["Tablet"]) && !says(&["Tablet PC"]) {
        return "tablet";
    }
    if says(&["Android"]) && !is_phone {
        return "tablet";
    }
    match category {
        _ if is_phone => "mobile",
        "smartphone" | "mobilephone" => "mobile",
        "pc" => "desktop",
        _ => "unknown",
    }
}

/// The names as people know them.
fn browser_name(name: &str) -> &'static str {
    const KNOWN: [(&str, &str); 12] = [
        ("Chrome", "Chrome"),
        ("Firefox", "Firefox"),
        ("Safari", "Safari"),
        ("Edge", "Edge"),
        ("Opera", "Opera"),
        ("Internet Explorer", "Internet Explorer"),
        ("Samsung", "Samsung Internet"),
        ("Vivaldi", "Vivaldi"),
        ("Yandex", "Yandex Browser"),
        ("Sleipnir", "Sleipnir"),
        ("Webview", "Webview"),
        ("Google Search App", "Google Search App"),
    ];
    KNOWN.iter().find(|(known, _)| name.starts_with(known)).map_or("unknown", |(_, name)| name)
}
