//! PostgreSQL that fails over while nodes write: with a synchronous standby, nothing that was acknowledged is lost;
//! after the promotion of one without the last writes, nodes say so and can give them back.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::node::{Client, create_cluster, start};
use super::postgres::{PASSWORD, Postgres};

/// The time in which clients write before the primary is lost, and after the standby took over.
const TIME: Duration = Duration::from_secs(2);
const CLIENTS: usize = 4;

fn environment() -> Vec<(String, String)> {
    vec![("PGPASSWORD".to_owned(), PASSWORD.to_owned())]
}

#[test]
fn a_standby_that_is_promoted_has_every_acknowledged_write() {
    let Some(mut primary) = Postgres::start() else { return };
    let standby = primary.start_standby();
    let temp = tempfile::tempdir().unwrap();
    let address = format!(
        "postgres://bindery@127.0.0.1:{},127.0.0.1:{}/bindery?sslmode=disable&connect_timeout=1",
        primary.port(),
        standby.port()
    );
    let key = ["--cluster-key", "a-key-of-the-cluster-with-32-characters", "--write-timeout", "3"];
    let nodes = create_cluster(temp.path(), &address, &environment(), &key);
    let client = Client::new(Duration::from_secs(10));
    client.blueprint(&nodes[0], "notes", json!([{ "name": "title", "slug": "title", "type": "text", "unique": true }]));

    let (acknowledged, is_over) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let count = || acknowledged.lock().unwrap().len();
    let mut before = 0;
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (nodes, client, acknowledged, is_over) = (&nodes, &client, &acknowledged, &is_over);
            scope.spawn(move || {
                for round in 0.. {
                    let title = format!("note {number} {round:05}");
                    let reply = client.create(&nodes[round % 2], "notes", &json!({ "title": title }), &[]);
                    if reply.is_ok_and(|reply| reply.status == 201) {
                        acknowledged.lock().unwrap().push(title);
                    }
                    if is_over.load(Ordering::SeqCst) {
                        break;
                    }
                }
            });
        }
        std::thread::sleep(TIME);
        before = count();
        primary.kill();
        standby.sql("postgres", "select pg_promote()");
        let promoted = Instant::now();
        let at_promotion = count();
        while count() == at_promotion {
            assert!(promoted.elapsed() < Duration::from_secs(30), "no write succeeds after the promotion");
            std::thread::sleep(Duration::from_millis(10));
        }
        eprintln!("a write succeeded {:?} after the promotion", promoted.elapsed());
        std::thread::sleep(TIME);
        is_over.store(true, Ordering::SeqCst);
    });

    let acknowledged = acknowledged.into_inner().unwrap();
    assert!(before > 0 && acknowledged.len() > before, "{before} of {}", acknowledged.len());
    for node in &nodes {
        let titles = client.titles(node).unwrap();
        let lost: Vec<&String> = acknowledged.iter().filter(|title| !titles.contains(title)).collect();
        assert!(lost.is_empty(), "{} acknowledged writes are lost, such as {}", lost.len(), lost[0]);
    }
    assert_eq!(client.titles(&nodes[0]), client.titles(&nodes[1]));
}

#[test]
fn a_database_without_the_last_writes_gets_them_from_a_node() {
    let Some(server) = Postgres::start() else { return };
    let temp = tempfile::tempdir().unwrap();
    let address = format!("postgres://bindery@127.0.0.1:{}/bindery?sslmode=disable", server.port());
    let nodes = create_cluster(temp.path(), &address, &environment(), &[]);
    let client = Client::new(Duration::from_secs(10));
    client.blueprint(&nodes[0], "notes", json!([{ "name": "title", "slug": "title", "type": "text" }]));
    let create = |node: usize, title: &str| client.create(&nodes[node], "notes", &json!({ "title": title }), &[]);
    create(0, "before").unwrap().expect(201);
    let head = server.sql("bindery", "select seq, encode(chain, 'hex') from bindery_head");
    let (seq, chain) = head.trim().split_once('|').unwrap();
    create(0, "lost").unwrap().expect(201);
    let titles = client.titles(&nodes[1]).unwrap();
    assert_eq!(titles, ["before", "lost"]);

    // This is the state of a standby that is promoted too early.
    let back = format!("update bindery_head set seq = {seq}, chain = decode('{chain}', 'hex')");
    server.sql("bindery", &format!("delete from bindery_log where seq > {seq}; {back}"));
    for (index, node) in nodes.iter().enumerate() {
        let refused = create(index, "refused").unwrap();
        assert_eq!(refused.status, 503, "{}", refused.text);
        let deadline = Instant::now() + Duration::from_secs(20);
        while !node.logged().contains("was set back to an older state")
            || client.get(node, "/readyz", &[]).unwrap().status != 503
        {
            assert!(Instant::now() < deadline, "{}", node.logged());
            std::thread::sleep(Duration::from_millis(20));
        }
        node.kill();
    }
    nodes[1].repair();
    start(&nodes);
    assert_eq!(client.titles(&nodes[0]).unwrap(), ["before", "lost"]);
    create(0, "after").unwrap().expect(201);
    assert_eq!(client.titles(&nodes[1]).unwrap(), ["after", "before", "lost"]);
}
