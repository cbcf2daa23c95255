//! Searches (`API.md` 4.8.13): random ones compared with the definitions, and each rule over HTTP.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use bindery_analytics::{ResultClick, SearchReport, TrackedSearch};
use bindery_http::analytics::Report;
use serde_json::{Value, json};

use super::{AGENTS, Counter, DAY, Random, SITES};
use crate::support::{ADMIN, Client, Reply, Server};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const QUESTIONS: [&str; 5] = ["red shoes", "Red  SHOES", "glue", "r", "linen"];
const BLUEPRINTS: [&str; 3] = ["articles", "pages", "authors"];

/// A search as it was sent.
struct Sent {
    at: i64,
    who: Who,
    question: String,
    found: bool,
    blueprints: Vec<&'static str>,
    id: String,
}

/// The site, the address and the user agent of a visitor.
type Who = (usize, u64, usize);

/// What the test sent, in order.
enum Step {
    Search(Sent),
    /// A click on the search of this number.
    Click {
        at: i64,
        search: usize,
        resource: u128,
        position: u32,
    },
}

/// A search with those that continue it.
struct Root {
    began: i64,
    at: i64,
    who: Who,
    question: String,
    found: bool,
    blueprints: BTreeSet<&'static str>,
    clicks: Vec<(u128, u32)>,
}

/// A time, whether it is that of a click, and the place of the step: in this order, the server counts.
type Moment = (i64, bool, usize);

/// The counted searches by their definition, slow and simple.
fn roots(steps: &[Step]) -> Vec<Root> {
    let searches: Vec<(usize, &Sent)> = steps
        .iter()
        .enumerate()
        .filter_map(|(place, step)| if let Step::Search(sent) = step { Some((place, sent)) } else { None })
        .collect();
    // The moment from which on a search counts: that, whether a click came first, and the place of the step.
    let mut counted: Vec<(Moment, usize)> = Vec::new();
    for (number, (place, sent)) in searches.iter().enumerate() {
        let follows = |other: &&(usize, &Sent)| {
            other.0 > *place
                && other.1.who == sent.who
                && other.1.question != sent.question
                && other.1.at < sent.at + 1_000
        };
        let end = searches.iter().find(follows).map(|(place, _)| *place);
        let click = steps.iter().enumerate().find_map(|(at_place, step)| match step {
            Step::Click { at, search, .. } if *search == number => Some((at_place, *at)),
            _ => None,
        });
        match (click, end) {
            (Some((at_place, at)), end) if at < sent.at + 1_000 && end.is_none_or(|end| at_place < end) => {
                counted.push(((at, true, at_place), number));
            }
            (_, None) => counted.push(((sent.at + 1_000, false, *place), number)),
            _ => {}
        }
    }
    counted.sort_unstable();
    let mut roots: Vec<Root> = Vec::new();
    let mut root_of: BTreeMap<usize, usize> = BTreeMap::new();
    for ((at, _, _), number) in &counted {
        let sent = searches[*number].1;
        let last = roots.iter().rposition(|root| root.who == sent.who && root.at / DAY == at / DAY);
        let continued = last.filter(|last| {
            let last = &roots[*last];
            last.question == sent.question && at - last.at <= 30 * MINUTE && at - last.began <= HOUR
        });
        let place = continued.unwrap_or_else(|| {
            roots.push(Root {
                began: *at,
                at: *at,
                who: sent.who,
                question: sent.question.clone(),
                found: false,
                blueprints: BTreeSet::new(),
                clicks: Vec::new(),
            });
            roots.len() - 1
        });
        roots[place].at = *at;
        root_of.insert(*number, place);
        // Clicks until the next search is counted are looked at below, when it is known what was found by then.
    }
    // Once more in the order of time, for what each search had found when it was clicked.
    let mut events: Vec<(Moment, Result<usize, usize>)> =
        counted.iter().map(|(moment, number)| (*moment, Ok(*number))).collect();
    for (place, step) in steps.iter().enumerate() {
        if let Step::Click { at, .. } = step {
            events.push(((*at, true, place), Err(place)));
        }
    }
    // A click that makes a search count comes right after it.
    events.sort_by_key(|(moment, event)| (*moment, event.is_err()));
    for (_, event) in events {
        match event {
            Ok(number) => {
                let root = &mut roots[root_of[&number]];
                root.found |= searches[number].1.found;
                root.blueprints.extend(&searches[number].1.blueprints);
            }
            Err(place) => {
                let Step::Click { at, search, resource, position } = &steps[place] else { continue };
                let sent = searches[*search].1;
                let Some(root) = root_of.get(search) else { continue };
                let root = &mut roots[*root];
                let is_valid = at - sent.at <= HOUR && at / DAY == sent.at / DAY;
                let is_of_root = at - root.began <= HOUR && at / DAY == root.began / DAY;
                let is_new = root.clicks.len() < 10 && root.clicks.iter().all(|(clicked, _)| clicked != resource);
                if is_valid && is_of_root && is_new && root.found {
                    root.clicks.push((*resource, *position));
                }
            }
        }
    }
    roots
}

/// A report by its definition.
fn expected(
    steps: &[Step],
    days: (i64, i64),
    site: Option<usize>,
    blueprint: Option<&str>,
    report: SearchReport,
    limit: usize,
) -> Value {
    #[derive(Default)]
    struct Row {
        searches: u64,
        visitors: BTreeSet<(i64, Who)>,
        empty: u64,
        clicked: u64,
        positions: Vec<u32>,
    }
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    let in_period = |root: &Root| (days.0..=days.1).contains(&(root.began / DAY));
    for root in roots(steps).iter().filter(|root| in_period(root) && site.is_none_or(|site| root.who.0 == site)) {
        if blueprint.is_some_and(|blueprint| !root.blueprints.contains(blueprint)) {
            continue;
        }
        let row = rows.entry(root.question.clone()).or_default();
        row.searches += 1;
        row.visitors.insert((root.began / DAY, root.who));
        row.empty += u64::from(!root.found);
        row.clicked += u64::from(!root.clicks.is_empty());
        row.positions.extend(root.clicks.iter().map(|(_, position)| position));
    }
    let tenths = |part: u64, whole: u64| {
        let tenths = (2 * part + whole) / (2 * whole);
        if tenths.is_multiple_of(10) { json!(tenths / 10) } else { json!(tenths as f64 / 10.0) }
    };
    let mut shown: Vec<(u64, Value)> = Vec::new();
    for (question, row) in rows.into_iter().filter(|(_, row)| row.visitors.len() >= 5) {
        let without_clicks = row.searches - row.empty - row.clicked;
        let sum: u64 = row.positions.iter().copied().map(u64::from).sum();
        let rank = match report {
            SearchReport::All => row.searches,
            SearchReport::WithoutResults => row.empty,
            SearchReport::WithoutClicks => without_clicks,
        };
        let mean = if row.positions.is_empty() { Value::Null } else { tenths(10 * sum, row.positions.len() as u64) };
        let value = json!({
            "question": question,
            "searches": row.searches,
            "visitors": row.visitors.len(),
            "without_results": row.empty,
            "without_clicks": without_clicks,
            "click_rate": tenths(1_000 * row.clicked, row.searches),
            "mean_position": mean,
        });
        shown.extend((rank > 0).then_some((rank, value)));
    }
    shown.sort_by_key(|(rank, _)| std::cmp::Reverse(*rank));
    shown.into_iter().map(|(_, value)| value).take(limit).collect()
}

fn check(counter: &Counter, steps: &[Step], random: &mut Random, now: i64) -> usize {
    let mut rows = 0;
    for _ in 0..6 {
        let (today, length) = (now / DAY, random.below(4) as i64);
        let days = (today - length, today - random.below(length as u64 + 1) as i64);
        let site = [None, Some(0), Some(1)][random.below(3) as usize];
        let blueprint = [None, Some(BLUEPRINTS[0]), Some(BLUEPRINTS[1]), Some("never")][random.below(4) as usize];
        let limit = [1, 2, 1_000][random.below(3) as usize];
        for report in [SearchReport::All, SearchReport::WithoutResults, SearchReport::WithoutClicks] {
            let date = bindery_model::time::format_date;
            let mut query = format!("start={}&end={}&limit={limit}", date(days.0), date(days.1));
            query.extend(site.map(|site| format!("&site={}", SITES[site])));
            query.extend(blueprint.map(|blueprint| format!("&blueprint={blueprint}")));
            let answered = counter.report(&Report::Searches(report), &query);
            let wanted = expected(steps, days, site, blueprint, report, limit);
            assert_eq!(answered, wanted, "{report:?} {query}");
            rows += answered.as_array().unwrap().len();
        }
    }
    rows
}

/// Sends random searches and clicks, with restarts and midnights, and compares all reports. Returns the number of
/// compared rows.
fn run(seed: u64, count: usize) -> usize {
    let temp = tempfile::tempdir().unwrap();
    let mut random = Random(seed);
    let mut now = 20_000 * DAY + random.below(DAY as u64) as i64;
    let mut counter = Counter::open(temp.path(), now);
    let mut steps: Vec<Step> = Vec::new();
    let (mut searches, mut rows) = (Vec::new(), 0);
    for number in 0..count {
        let pause = *random.pick(&[0, 0, 1, 300, 999, 1_000, 1_000, 5_000, MINUTE, 10 * MINUTE, 30 * MINUTE, 3 * HOUR]);
        now += if random.below(3) == 0 { pause } else { pause.min(5_000) };
        counter.set_clock(now);
        // Between two reports, the salt of a new day is made.
        counter.report(&Report::Live, "");
        counter.report(&Report::Live, "");
        let analytics = counter.analytics.as_ref().unwrap();
        if random.below(3) > 0 || searches.is_empty() {
            let who = (random.below(2) as usize, random.below(4), random.below(2) as usize);
            let question = *random.pick(&QUESTIONS);
            let found = random.below(3) > 0;
            let places = if found { 1 + random.below(2) as usize } else { random.below(2) as usize };
            let blueprints: Vec<&str> = (0..places).map(|_| *random.pick(&BLUEPRINTS)).collect();
            let id = analytics.issue_search().unwrap();
            analytics.submit(TrackedSearch {
                number: id.number,
                site: SITES[who.0].to_owned(),
                question: question.to_owned(),
                found,
                blueprints: BTreeSet::from_iter(&blueprints).into_iter().map(|slug| (*slug).to_owned()).collect(),
                is_public: true,
                address: IpAddr::from([192, 0, 2, who.1 as u8]),
                user_agent: AGENTS[who.2].0.to_owned(),
            });
            let question = question.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
            searches.push(id.text.clone());
            steps.push(Step::Search(Sent { at: now, who, question, found, blueprints, id: id.text }));
        } else {
            let recent = searches.len().min(12) as u64;
            let search = searches.len() - 1 - random.below(recent) as usize;
            let sent = steps.iter().filter_map(|step| if let Step::Search(sent) = step { Some(sent) } else { None });
            let sent = sent.into_iter().nth(search).unwrap();
            let is_valid = now - sent.at <= HOUR && now / DAY == sent.at / DAY;
            let opened = analytics.clickable_search(&sent.id);
            assert_eq!(opened.is_ok(), is_valid, "{opened:?}");
            let (resource, position) = (random.below(12).into(), 1 + random.below(30) as u32);
            if let Ok(number) = opened {
                analytics.submit(ResultClick { number, resource, position });
                steps.push(Step::Click { at: now, search, resource, position });
            }
        }
        if number % 40 == 39 {
            now += 1_000;
            counter.set_clock(now);
            if random.below(2) == 0 {
                counter.restart();
            }
            rows += check(&counter, &steps, &mut random, now);
        }
    }
    rows
}

#[test]
fn reports_of_random_searches_match_their_definitions() {
    let rows: usize = (1..=8).map(|seed| run(seed, 400)).sum();
    assert!(rows > 300, "{rows} rows were compared");
}

/// A server with two blueprints, and articles about linen.
fn start(more: &[&str]) -> Server {
    let sites = format!("--analytics-sites={}", SITES.join(","));
    let arguments = [&[sites.as_str(), "--analytics-trusted-proxies=127.0.0.1"], more].concat();
    let server = Server::start_with(&arguments);
    for slug in ["articles", "secrets"] {
        server.blueprint(slug, json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    }
    for title in ["Linen shirts", "Linen trousers", "Washing linen"] {
        let body = json!({ "attributes": { "title": title }, "published_at": "2026-01-01T00:00:00Z" });
        server.post("/v2/resources/articles", &body).expect(201);
    }
    let body = json!({ "attributes": { "title": "Salary of the boss" }, "published_at": "2026-01-01T00:00:00Z" });
    server.post("/v2/resources/secrets", &body).expect(201);
    server
}

/// Asks as the visitor of a number.
fn ask(client: &Client<'_>, visitor: u8, path: &str) -> Reply {
    let address = format!("192.0.2.{visitor}");
    let headers = [("user-agent", AGENTS[0].0), ("x-forwarded-for", &address), ("origin", "https://a.example")];
    client.raw("GET", path, &headers, b"")
}

fn id(reply: &Reply) -> String {
    reply.json()["meta"]["search_id"].as_str().unwrap_or_else(|| panic!("{}", reply.text)).to_owned()
}

fn click(server: &Server, search: &str, resource: &str, position: u32) -> Reply {
    let body = json!({ "id": resource, "position": position }).to_string();
    let path = format!("/v2/analytics/searches/{search}/click");
    server.as_token("").raw("POST", &path, &[("content-type", "text/plain")], body.as_bytes())
}

fn report(server: &Server, path: &str) -> Value {
    server.get(&format!("/v2/analytics/searches{path}")).expect(200).json()
}

fn rest() {
    std::thread::sleep(Duration::from_millis(1_100));
}

const LIST: &str = "/v2/resources/articles?q=linen&track=true";

#[test]
fn a_tracked_answer_is_that_of_the_list_with_an_id_of_its_own() {
    let server = start(&[]);
    let reader = server.token(&["view"]);
    let reader = server.as_token(&reader);
    let plain = reader.get("/v2/resources/articles?q=linen").expect(200);
    assert!(plain.json()["meta"].get("search_id").is_none());
    let mut ids = BTreeSet::new();
    let escaped = "/v2/resources/articles?q=linen&tr%61ck=true";
    for path in [LIST, LIST, escaped, "/v2/search?q=linen&track=true", "/v2/search?q=linen&track=true"] {
        let reply = ask(&reader, 1, path).expect(200);
        assert_eq!((reply.header("etag"), reply.header("cache-control")), (None, Some("no-store")));
        assert_eq!(id(&reply).len(), 40);
        ids.insert(id(&reply));
    }
    assert_eq!(ids.len(), 5, "kept answers have one id for all");
    let tracked = ask(&reader, 1, LIST).json();
    assert_eq!(tracked["data"], plain.json()["data"]);
    let known = [("if-none-match", "*"), ("user-agent", AGENTS[0].0), ("origin", "https://a.example")];
    assert!(id(&reader.raw("GET", LIST, &known, b"").expect(200)).len() == 40);
    // A write is in the next answer.
    let body = json!({ "attributes": { "title": "More linen" }, "published_at": "2026-01-01T00:00:00Z" });
    server.post("/v2/resources/articles", &body).expect(201);
    assert_eq!(ask(&reader, 1, LIST).json()["meta"]["total"], 4);
    // Also for members of the dashboard, working copies and explained lists, and on every page.
    for more in ["&page=2", "&sort=title", "&cursor=&sort=title", "&q_mode=exact", "&facets=title"] {
        assert_eq!(id(&ask(&reader, 1, &format!("{LIST}{more}")).expect(200)).len(), 40, "{more}");
    }
    let explained = ask(&server.as_token(ADMIN), 1, &format!("{LIST}&explain=true")).expect(200);
    assert!(explained.json()["meta"]["explain"].is_array() && id(&explained).len() == 40);
    for untracked in [
        "/v2/resources/articles?track=true",
        "/v2/resources/articles?q=%2B&track=true",
        "/v2/search?q=linen&group=true&track=true",
    ] {
        let reply = ask(&reader, 1, untracked).expect(200);
        assert!(reply.json()["meta"].get("search_id").is_none(), "{untracked}");
        let strict = ask(&reader, 1, &format!("{untracked}&strict=true")).expect(422);
        assert!(strict.message().contains("no effect"), "{}", strict.message());
    }
    for path in ["/v2/resources/articles?q=linen&track=yes", "/v2/search?q=linen&track=2"] {
        assert_eq!(ask(&reader, 1, path).expect(422).code(), "INVALID_PARAMETER");
    }
}

#[test]
fn visitors_who_are_not_counted_get_no_id() {
    let server = start(&["--analytics-do-not-track"]);
    let ask = |headers: &[(&str, &str)]| {
        server.raw("GET", LIST, headers, b"").expect(200).json()["meta"]["search_id"].clone()
    };
    let agent = ("user-agent", AGENTS[0].0);
    let site = ("origin", "https://a.example");
    assert!(ask(&[agent, site]).is_string());
    assert!(ask(&[agent, ("referer", "https://www.b.example/search?q=linen")]).is_string());
    for headers in [
        &[agent][..],
        &[agent, ("origin", "https://other.example")],
        &[agent, site, ("dnt", "1")],
        &[agent, site, ("sec-gpc", "1")],
    ] {
        assert_eq!(ask(headers), Value::Null, "{headers:?}");
    }
    // With one site only, a request that names none is of that site.
    let server = Server::start_with(&["--analytics-sites=a.example", "--analytics-events-per-minute=2"]);
    server.blueprint("articles", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    let ids: Vec<bool> =
        (0..3).map(|_| server.raw("GET", LIST, &[agent], b"").json()["meta"]["search_id"].is_string()).collect();
    assert_eq!(ids, [true, true, false], "the limit of an address");
}

#[test]
fn searches_are_counted_from_the_first_keystroke_to_the_last_click() {
    let server = start(&[]);
    let reader = server.token(&["view"]);
    let reader = server.as_token(&reader);
    let found = reader.get("/v2/resources/articles?q=linen").data();
    let resources: Vec<&str> = found.as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect();
    let mut last = String::new();
    for visitor in 1..=6 {
        for q in ["l", "li", "lin", "line", "Linen"] {
            last = id(&ask(&reader, visitor, &format!("/v2/resources/articles?q={q}&track=true")).expect(200));
        }
    }
    assert_eq!(report(&server, ""), json!([]), "they have not rested");
    rest();
    let row = |searches, visitors, clicks, rate: Value, mean: Value| {
        json!([{ "question": "linen", "searches": searches, "visitors": visitors, "without_results": 0, "without_clicks": clicks,
            "click_rate": rate, "mean_position": mean }])
    };
    assert_eq!(report(&server, ""), row(6, 6, 6, json!(0), Value::Null));
    assert_eq!(report(&server, "?site=a.example&blueprint=articles"), row(6, 6, 6, json!(0), Value::Null));
    for nothing in ["?site=www.b.example", "?blueprint=secrets", "?end=2020-01-01&start=2020-01-01"] {
        assert_eq!(report(&server, nothing), json!([]), "{nothing}");
    }
    click(&server, &last, resources[0], 1).expect(202);
    click(&server, &last, resources[0], 3).expect(202);
    click(&server, &last, resources[1], 2).expect(202);
    assert_eq!(report(&server, ""), row(6, 6, 5, json!(16.7), json!(1.5)));
    // A page of the same question, and a search that is clicked before it has rested.
    let page = id(&ask(&reader, 6, "/v2/resources/articles?q=linen&page=2&track=true").expect(200));
    click(&server, &page, resources[2], 26).expect(202);
    assert_eq!(report(&server, ""), row(6, 6, 5, json!(16.7), json!(9.7)));
    // Nothing found, in the list of all blueprints.
    for visitor in 1..=5 {
        ask(&reader, visitor, "/v2/search?q=xylophone&track=true&blueprints=articles,secrets").expect(200);
    }
    rest();
    let empty = json!([{ "question": "xylophone", "searches": 5, "visitors": 5, "without_results": 5, "without_clicks": 0,
        "click_rate": 0, "mean_position": null }]);
    assert_eq!(report(&server, "/without-results"), empty);
    assert_eq!(report(&server, "/without-clicks"), row(6, 6, 5, json!(16.7), json!(9.7)));
    assert_eq!(report(&server, "?limit=1"), row(6, 6, 5, json!(16.7), json!(9.7)));
    let metrics = server.get("/metrics").text;
    for line in ["bindery_analytics_searches_total 12", "bindery_analytics_clicks_total 3"] {
        assert!(metrics.contains(line), "{line}");
    }
    for path in ["pages", "summary"] {
        let other = server.get(&format!("/v2/analytics/{path}")).json();
        assert!(other == json!([]) || other["visitors"] == 0, "{other}");
    }
}

#[test]
fn a_report_of_a_blueprint_that_the_token_does_not_have_is_empty() {
    let server = start(&[]);
    five_ask(&server.as_token(ADMIN), "/v2/resources/secrets?q=salary&track=true");
    let body = json!({ "name": "x", "abilities": ["analytics:view"], "blueprints": ["articles"] });
    let secret = server.post("/v2/tokens", &body).expect(201).data()["secret"].as_str().unwrap().to_owned();
    let limited = server.as_token(&secret);
    let question = |client: &Client<'_>, blueprint: &str| {
        let path = format!("/v2/analytics/searches?blueprint={blueprint}");
        client.get(&path).expect(200).json()[0]["question"].clone()
    };
    assert_eq!(question(&server.as_token(ADMIN), "secrets"), "salary");
    for blueprint in ["secrets", "nothing", "articles"] {
        assert_eq!(question(&limited, blueprint), Value::Null, "{blueprint}");
    }
    let invalid = limited.get("/v2/analytics/searches?blueprint=secrets&limit=0").expect(422);
    assert_eq!(invalid.code(), "INVALID_PARAMETER");
}

#[test]
fn robots_are_not_counted_and_forged_clicks_are_refused() {
    let server = start(&[]);
    let resource = "01980000-0000-7000-8000-000000000001";
    for robot in 0..5 {
        let address = format!("192.0.2.{robot}");
        let headers = [("user-agent", "curl/8.5.0"), ("x-forwarded-for", &address), ("origin", "https://a.example")];
        let robots = id(&server.raw("GET", LIST, &headers, b"").expect(200));
        click(&server, &robots, resource, 1).expect(202);
    }
    rest();
    assert_eq!(report(&server, ""), json!([]));
    let other = start(&[]);
    let foreign = id(&ask(&other.as_token(ADMIN), 1, LIST));
    for forged in [foreign.as_str(), "x", "null", &"A".repeat(40), &"%C3%A9".repeat(40)] {
        let refused = click(&server, forged, resource, 1).expect(404);
        assert!(refused.code() == "NOT_FOUND" && refused.message().contains("track=true"), "{}", refused.message());
    }
    let issued = id(&ask(&server.as_token(ADMIN), 1, LIST));
    let path = format!("/v2/analytics/searches/{issued}/click");
    let post = |media_type: &str, body: &str| {
        server.as_token("").raw("POST", &path, &[("content-type", media_type)], body.as_bytes())
    };
    let valid = format!("{{\"id\":\"{resource}\",\"position\":1}}");
    for (media_type, body, status, code) in [
        ("application/json", "", 400, "MALFORMED_JSON"),
        ("application/json", "{", 400, "MALFORMED_JSON"),
        ("text/html", &valid, 415, "UNSUPPORTED_MEDIA_TYPE"),
        ("text/plain", &format!("[{}]", "1,".repeat(40_000)), 413, "PAYLOAD_TOO_LARGE"),
        ("text/plain", "[]", 422, "VALIDATION_FAILED"),
        ("text/plain", "{}", 422, "VALIDATION_FAILED"),
        ("text/plain", "{\"id\":1,\"position\":\"1\"}", 422, "VALIDATION_FAILED"),
        ("text/plain", &valid.replace('1', "x"), 400, "MALFORMED_JSON"),
        ("text/plain", &valid.replace("\"position\":1", "\"position\":0"), 422, "VALIDATION_FAILED"),
        ("text/plain", &valid.replace("\"position\":1", "\"position\":1e99"), 422, "VALIDATION_FAILED"),
    ] {
        assert_eq!(post(media_type, body).expect(status).code(), code, "{body}");
    }
    assert_eq!(server.get(&path).expect(405).header("allow"), Some("POST"));
    post("application/json", &valid).expect(202);
    let refused = server.get("/v2/analytics/searches?filter[page]=/x").expect(422);
    assert_eq!((refused.code().as_str(), refused.message().contains("blueprint")), ("INVALID_FILTER", true));
    for bad in ["limit=0", "start=x", "start=2026-02-02&end=2026-01-01", "site=/"] {
        assert_eq!(server.get(&format!("/v2/analytics/searches?{bad}")).expect(422).code(), "INVALID_PARAMETER");
    }
}

#[test]
fn clicks_are_limited_by_address() {
    let server = start(&["--analytics-events-per-minute=3"]);
    let issued = id(&ask(&server.as_token(ADMIN), 1, LIST));
    let resource = "01980000-0000-7000-8000-000000000001";
    let statuses: Vec<u16> = (0..4).map(|_| click(&server, &issued, resource, 1).status).collect();
    assert_eq!(statuses, [202, 202, 202, 429]);
}

/// Lets five visitors ask, each time.
fn five_ask(client: &Client<'_>, path: &str) {
    for visitor in 1..=5 {
        ask(client, visitor, path).expect(200);
    }
    rest();
}

/// Returns the suggested questions, once there are `count` of them.
fn questions(client: &Client<'_>, q: &str, count: usize) -> Vec<(String, u64)> {
    let began = Instant::now();
    loop {
        let suggested = client.get(&format!("/v2/search/suggest?q={q}")).expect(200).data();
        let asked: Vec<(String, u64)> = suggested
            .as_array()
            .unwrap()
            .iter()
            .filter(|item| item["kind"] == "question")
            .map(|item| (item["text"].as_str().unwrap().to_owned(), item["count"].as_u64().unwrap()))
            .collect();
        if asked.len() >= count.max(1) || began.elapsed() > Duration::from_secs(if count == 0 { 3 } else { 20 }) {
            return asked;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_question_is_suggested_to_those_who_could_have_found_the_same() {
    let server = start(&[]);
    let token = |abilities: &[&str], blueprints: Value| {
        let body = json!({ "name": "x", "abilities": abilities, "blueprints": blueprints });
        server.post("/v2/tokens", &body).expect(201).data()["secret"].as_str().unwrap().to_owned()
    };
    let (public, all, drafts) = (
        token(&["view"], json!(["articles"])),
        token(&["view"], Value::Null),
        token(&["view", "preview"], Value::Null),
    );
    let [public, all, drafts] = [&public, &all, &drafts].map(|secret| server.as_token(secret));
    five_ask(&all, "/v2/resources/articles?q=Linen+shirts&track=true");
    five_ask(&all, "/v2/resources/secrets?q=salary+of+the+boss&track=true");
    five_ask(&all, "/v2/search?q=salary&track=true");
    // Only drafts have it, only four visitors ask it, or nothing is found.
    server.create("articles", json!({ "title": "Linen drafts" }));
    five_ask(&drafts, "/v2/resources/articles?q=linen+drafts&q_match=all&track=true");
    for visitor in 1..=4 {
        ask(&all, visitor, "/v2/resources/articles?q=linen+trousers&track=true").expect(200);
    }
    five_ask(&all, "/v2/resources/articles?q=linex+nothing&q_match=all&track=true");
    let asked = |text: &str| (text.to_owned(), 5);
    assert_eq!(questions(&all, "lin", 1), [asked("linen shirts")]);
    assert_eq!(questions(&all, "sal", 1), [asked("salary of the boss")]);
    assert_eq!(questions(&all, "salary+", 1), [asked("salary of the boss")]);
    assert_eq!(questions(&public, "LINEN++s", 1), [asked("linen shirts")]);
    assert_eq!(questions(&public, "sal", 0), []);
    assert_eq!(questions(&drafts, "linen", 1), [asked("linen shirts")]);
    assert_eq!(questions(&all, "linen+shirts", 0), [], "it is complete");
    let within = all.get("/v2/search/suggest?q=sal&blueprints=articles").expect(200).data();
    assert_eq!(within, json!([]));
    // Words come before questions, and titles after them.
    let kinds: Vec<String> = all
        .get("/v2/search/suggest?q=linen+s")
        .data()
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["kind"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds, ["word", "title"], "a question that is also a word is shown once");
    // Deleted figures are not suggested.
    server.raw("DELETE", "/v2/analytics/events?site=a.example", &[], b"").expect(200);
    assert_eq!(questions(&all, "lin", 0), []);
    assert_eq!(report(&server, ""), json!([]));
}

/// A singular blueprint is shown to every reader, also as a draft.
#[test]
fn a_singular_blueprint_leaves_questions_for_suggestions() {
    let server = start(&[]);
    let fields = json!([{ "name": "Title", "slug": "title", "type": "text" }]);
    let imprint = json!({ "name": "Imprint", "slug": "imprint", "kind": "singular_resource", "fields": fields });
    server.post("/v2/blueprints", &imprint).expect(201);
    let id = server.ids("imprint").remove(0);
    let body = json!({ "attributes": { "title": "Legal notice" } });
    server.patch(&format!("/v2/resources/imprint/{id}"), &body).expect(200);
    let [reader, editor] = [&["view"][..], &["view", "preview"]].map(|abilities| server.token(abilities));
    let [reader, editor] = [&reader, &editor].map(|secret| server.as_token(secret));
    for visitor in 1..=5 {
        ask(&reader, visitor, "/v2/search?q=washing+linen&track=true").expect(200);
        ask(&reader, visitor + 10, "/v2/resources/imprint?q=legal+notice&track=true").expect(200);
        ask(&editor, visitor + 20, "/v2/search?q=notice+legal&track=true").expect(200);
        ask(&editor, visitor + 30, "/v2/resources/imprint?q=notices+legal&track=true").expect(200);
    }
    rest();
    assert_eq!(questions(&reader, "washing", 1), [("washing linen".to_owned(), 5)]);
    assert_eq!(questions(&reader, "legal", 1), [("legal notice".to_owned(), 5)]);
    let of_editors = reader.get("/v2/search/suggest?q=notice").expect(200).data();
    assert!(of_editors.as_array().unwrap().iter().all(|item| item["kind"] != "question"), "{of_editors}");
}

#[test]
fn searches_survive_restarts_kills_and_backups() {
    let temp = tempfile::tempdir().unwrap();
    let (data, file) = (temp.path().join("data"), temp.path().join("all.backup"));
    let arguments = ["--analytics-sites=a.example", "--analytics-trusted-proxies=127.0.0.1"];
    let mut server = Server::start_in(&data, &arguments);
    server.blueprint("articles", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    let linen = server.create("articles", json!({ "title": "Linen" }));
    for visitor in 1..=5 {
        ask(&server.as_token(ADMIN), visitor, LIST).expect(200);
    }
    let last = id(&ask(&server.as_token(ADMIN), 5, LIST));
    // Stops before the searches have rested.
    server.terminate();
    drop(server);
    server = Server::start_in(&data, &arguments);
    click(&server, &last, &linen, 4).expect(202);
    let row = json!([{ "question": "linen", "searches": 5, "visitors": 5, "without_results": 0, "without_clicks": 4,
        "click_rate": 20, "mean_position": 4 }]);
    assert_eq!(report(&server, ""), row);
    // The rest of a deletion holds what is left.
    server.raw("DELETE", "/v2/analytics/events?site=other.example", &[], b"").expect(200);
    std::thread::sleep(Duration::from_millis(600));
    server.kill();
    server = Server::start_in(&data, &arguments);
    assert_eq!(report(&server, ""), row);
    click(&server, &last, &linen, 9).expect(202);
    assert_eq!(report(&server, ""), row, "a second click on the same result");
    let again = id(&ask(&server.as_token(ADMIN), 5, LIST));
    click(&server, &again, "01980000-0000-7000-8000-000000000001", 6).expect(202);
    let row = json!([{ "question": "linen", "searches": 5, "visitors": 5, "without_results": 0, "without_clicks": 4,
        "click_rate": 20, "mean_position": 5 }]);
    assert_eq!(report(&server, ""), row, "it continues the search from before");
    let output = std::process::Command::new(crate::support::binary())
        .args(["backup", file.to_str().unwrap(), "--url", server.address(), "--token", ADMIN])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    drop(server);
    let restored = temp.path().join("restored");
    let output = std::process::Command::new(crate::support::binary())
        .args(["restore", file.to_str().unwrap(), "--data", restored.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let server = Server::start_in(&restored, &arguments);
    assert_eq!(report(&server, ""), row);
    // A backup has no salts, so it can check no id.
    click(&server, &again, &linen, 1).expect(404);
}

#[test]
fn the_one_list_suggests_another_question() {
    let server = start(&[]);
    let meta = |q: &str| server.get(&format!("/v2/search?q={q}")).expect(200).json()["meta"].clone();
    let (found, missing) = (meta("linen"), meta("kinen+shirts"));
    assert_eq!((&found["did_you_mean"], &found["ignored_words"]), (&Value::Null, &json!([])));
    assert_eq!(missing["did_you_mean"], "linen shirts", "{missing}");
    assert_eq!(meta("salary+linen")["ignored_words"], json!(["salary", "linen"]));
    assert_eq!(meta("qwertzuiop")["did_you_mean"], Value::Null);
    let exact = meta("linen&q_mode=exact");
    assert!(exact.get("did_you_mean").is_none() && exact.get("ignored_words").is_none(), "{exact}");
}
