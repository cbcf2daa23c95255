//! User agents: recognizes robots, and finds the device and browser of all others.
//!
//! Robots are the user agents on `isbot`'s list, woothee's crawlers, the programs listed below, and requests without a
//! user agent. woothee names the browser, except where it reports the browser whose engine is used: such browsers are
//! recognized by their own word. Devices are recognized by the few words that browsers have agreed on.

use std::collections::HashMap;

/// The number of user agents that are cached, so that the usual ones are parsed once.
const CACHED: usize = 4096;

/// Words of robots that the lists miss and no browser sends: libraries, feed readers, monitors and headless browsers.
const ROBOT_WORDS: [&str; 37] = [
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
    "dalvik/",
    "libfetch",
    "portscout",
    "undici",
    "faraday",
    "dart/",
    "httpie",
    "exporter/",
    "kube-probe",
    "googleother",
    "anthropic-ai",
];

/// Robots that are recognized only if the whole user agent is this word, because browsers' user agents may contain it.
const ROBOT_AGENTS: [&str; 4] = ["", "-", "node", "ruby"];

/// Browsers that woothee reports as a better-known one, by the word that identifies them.
const BROWSERS: [(&str, &str); 20] = [
    ("OPT/", "Opera"),
    (" Opera ", "Opera"),
    ("DuckDuckGo/", "DuckDuckGo"),
    ("UCBrowser/", "UC Browser"),
    ("MiuiBrowser/", "Xiaomi Browser"),
    ("HuaweiBrowser/", "Huawei Browser"),
    ("MQQBrowser/", "QQ Browser"),
    ("Silk/", "Amazon Silk"),
    ("Whale/", "Whale"),
    ("Brave/", "Brave"),
    ("FBAV/", "Facebook"),
    ("Instagram", "Instagram"),
    ("MicroMessenger/", "WeChat"),
    ("SeaMonkey/", "SeaMonkey"),
    ("PaleMoon/", "Pale Moon"),
    ("Midori/", "Midori"),
    ("Epiphany/", "Epiphany"),
    ("Konqueror/", "Konqueror"),
    ("Thunderbird/", "Thunderbird"),
    ("MAXTHON", "Maxthon"),
];

/// The facts about a visitor in a user agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Agent {
    /// `desktop`, `mobile`, `tablet`, or `unknown`.
    pub(super) device: &'static str,
    /// The browser's name, or `unknown`.
    pub(super) browser: &'static str,
}

/// A parser of user agents with a cache.
pub(super) struct Agents {
    robots: isbot::Bots,
    parser: woothee::parser::Parser,
    cache: HashMap<String, Option<Agent>>,
}

impl Agents {
    pub(super) fn new() -> Agents {
        Agents { robots: isbot::Bots::default(), parser: woothee::parser::Parser::new(), cache: HashMap::new() }
    }

    /// Reads the device and browser, or `None` for a robot.
    pub(super) fn read(&mut self, user_agent: &str) -> Option<Agent> {
        if let Some(agent) = self.cache.get(user_agent) {
            return *agent;
        }
        let agent = self.parse(user_agent);
        if self.cache.len() >= CACHED {
            self.cache.clear();
        }
        self.cache.insert(user_agent.to_owned(), agent);
        agent
    }

    fn parse(&self, user_agent: &str) -> Option<Agent> {
        let lower = user_agent.to_ascii_lowercase();
        let has_robot_word = || ROBOT_WORDS.iter().any(|word| lower.contains(word));
        if ROBOT_AGENTS.contains(&lower.trim()) || has_robot_word() || self.robots.is_bot(user_agent) {
            return None;
        }
        let parsed = self.parser.parse(user_agent);
        let category = parsed.as_ref().map_or("", |parsed| parsed.category);
        if category == "crawler" {
            return None;
        }
        let browser = parsed.as_ref().map_or("", |parsed| parsed.name);
        Some(Agent { device: device(user_agent, category), browser: browser_name(user_agent, browser) })
    }
}

fn device(user_agent: &str, category: &str) -> &'static str {
    let has_any = |words: &[&str]| words.iter().any(|word| user_agent.contains(word));
    let is_phone = has_any(&["Mobi", "iPhone", "iPod", "Windows Phone", "BlackBerry", "Opera Mini"]);
    if has_any(&["iPad", "PlayBook", "Kindle"]) || has_any(&["Tablet"]) && !has_any(&["Tablet PC"]) {
        return "tablet";
    }
    if has_any(&["Android", "Silk/"]) && !is_phone {
        return "tablet";
    }
    match category {
        _ if is_phone => "mobile",
        "smartphone" | "mobilephone" => "mobile",
        "pc" => "desktop",
        _ if has_any(&["Windows NT", "Macintosh", "X11", "CrOS"]) => "desktop",
        _ => "unknown",
    }
}

/// Returns the usual name of a browser, from the name that woothee reports.
fn browser_name(user_agent: &str, name: &str) -> &'static str {
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
    if let Some((_, named)) = BROWSERS.iter().find(|(word, _)| user_agent.contains(word)) {
        return named;
    }
    match KNOWN.iter().find(|(known, _)| name.starts_with(known)) {
        // Android's own browser from before Chrome.
        Some((_, "Safari")) if user_agent.contains("Android") => "Android Browser",
        Some((_, named)) => named,
        // woothee does not know every form of its user agent.
        None if user_agent.contains("MSIE ") => "Internet Explorer",
        None => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_agents_give_device_and_browser_or_are_robots() {
        let table = [
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36 OPR/115.0.0.0",
                Some(("desktop", "Opera")),
            ),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15",
                Some(("desktop", "Safari")),
            ),
            (
                "Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
                Some(("desktop", "Chrome")),
            ),
            (
                "Mozilla/5.0 (Windows NT 6.1; WOW64; Trident/7.0; rv:11.0) like Gecko",
                Some(("desktop", "Internet Explorer")),
            ),
            (
                "Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.2; SV1; .NET CLR 2.0.50727)",
                Some(("desktop", "Internet Explorer")),
            ),
            (
                "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36",
                Some(("mobile", "Chrome")),
            ),
            (
                "Mozilla/5.0 (Linux; Android 14; SM-S928B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/26.0 Chrome/122.0.0.0 Mobile Safari/537.36",
                Some(("mobile", "Samsung Internet")),
            ),
            ("Mozilla/5.0 (Android 14; Mobile; rv:132.0) Gecko/132.0 Firefox/132.0", Some(("mobile", "Firefox"))),
            (
                "Mozilla/5.0 (Linux; Android 14; SM-X910) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
                Some(("tablet", "Chrome")),
            ),
            (
                "Mozilla/5.0 (iPad; CPU OS 12_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/12.1.2 Mobile/15E148 Safari/604.1",
                Some(("tablet", "Safari")),
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/131.0.6778.73 Mobile/15E148 Safari/604.1",
                Some(("mobile", "Chrome")),
            ),
            (
                "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/142.0.7444.102 Mobile DuckDuckGo/5 Safari/537.36",
                Some(("mobile", "DuckDuckGo")),
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.7 Mobile/15E148 Safari/604.1 OPT/6.2.0",
                Some(("mobile", "Opera")),
            ),
            (
                "Mozilla/5.0 (Linux; U; Android 2.3.5; en-gb; GT-I9100 Build/GINGERBREAD) AppleWebKit/533.1 (KHTML, like Gecko) Version/4.0 Mobile Safari/533.1",
                Some(("mobile", "Android Browser")),
            ),
            (
                "Mozilla/5.0 (Linux; U; en-us; KFAPWI Build/JDQ39) AppleWebKit/535.19 (KHTML, like Gecko) Silk/3.13 Safari/535.19 Silk-Accelerated=true",
                Some(("tablet", "Amazon Silk")),
            ),
            ("Mozilla/5.0 (Windows; U; MSIE 9.0; Windows NT 9.0; en-US)", Some(("desktop", "Internet Explorer"))),
            ("Mozilla/4.0", Some(("unknown", "unknown"))),
            ("Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)", None),
            (
                "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)",
                None,
            ),
            ("Wget/1.21.4", None),
            ("Go-http-client/1.1", None),
            ("node", None),
            ("", None),
        ];
        let mut agents = Agents::new();
        for (user_agent, expected) in table {
            let expected = expected.map(|(device, browser)| Agent { device, browser });
            assert_eq!(agents.read(user_agent), expected, "{user_agent}");
            assert_eq!(agents.read(user_agent), expected, "cached: {user_agent}");
        }
    }
}
