//! The log in a real PostgreSQL: it does what logs in memory do, and says what is wrong with an address or a server.

#[path = "../../../tests/it/cluster/postgres.rs"]
#[allow(dead_code)]
mod server;

use std::time::{Duration, Instant};

use super::{BASE_NUMBER, append_groups, bases, create, patient, races, removal};
use crate::address::open_database;
use crate::{AppendError, ClusterError, Found, Log, Position, Store};
use server::{PASSWORD, Postgres};

fn store_with(server: &Postgres, user: &str, database: &str, password: &str) -> Result<Store, ClusterError> {
    let address = format!("postgres://{user}@127.0.0.1:{}/{database}?connect_timeout=2", server.port());
    let setting = |name: &str| (name == "PGPASSWORD").then(|| password.to_owned());
    open_database(&address, &setting).map(|objects| Store { objects: objects.into() })
}

/// A log in a database of its own, and the position at which it begins.
fn new_log(server: &Postgres, database: &str) -> (Store, Log, Position) {
    server.sql("postgres", &format!("create database {database}"));
    let store = store_with(server, "bindery", database, PASSWORD).unwrap();
    let info = create(&store);
    let log = store.log(&info.history, "a").unwrap();
    (store, log, Position::start(info.history.id, BASE_NUMBER))
}

#[test]
fn a_log_in_postgresql_does_what_others_do() {
    let Some(server) = Postgres::start() else { return };
    server.sql("postgres", "create database races");
    let store = store_with(&server, "bindery", "races", PASSWORD).unwrap();
    assert!(matches!(store.cluster(), Err(ClusterError::NoCluster { .. })));
    store.probe().unwrap();
    races::race(&store);
    removal::removed_groups_are_known(new_log(&server, "removed"));
    removal::what_follows_removed_groups_is_appended(new_log(&server, "follows"));
    bases::a_large_base_comes_back(new_log(&server, "bases"));
    groups_of_all_sizes_come_back(&new_log(&server, "sizes"));
    removed_bases_leave_nothing(&server);
    what_was_cut_off_at_the_end_is_no_base(&server);
    those_who_follow_are_told(&server);
    a_database_that_was_set_back_accepts_nothing(&server);
}

fn groups_of_all_sizes_come_back((_, log, start): &(Store, Log, Position)) {
    let mut position = *start;
    for bytes in [0, 1, 64 << 10, 65 << 10, 63 << 20] {
        let record = vec![b'x'; bytes];
        let behind = log.append(&position, std::slice::from_ref(&record), 1, &mut patient).unwrap();
        let Found::Group(group, _) = log.read(&position).unwrap() else { panic!("the group is missing") };
        assert!(group.records == [record], "a record of {bytes} bytes");
        position = behind;
    }
    assert!(log.confirm(&position).unwrap());
}

fn removed_bases_leave_nothing(server: &Postgres) {
    let (_store, log, start) = new_log(server, "parts");
    let positions = append_groups(&log, start, 3);
    let file = bases::write_file(9 << 20);
    positions[1..].iter().for_each(|position| drop(log.upload_base(file.path(), position, &|| true).unwrap()));
    assert_eq!(log.remove_bases(Duration::ZERO).unwrap(), 2);
    let objects = server.sql("parts", "select count(distinct name) from bindery_base");
    assert_eq!(objects.trim(), "2", "the parts of removed bases are still there");
}

fn those_who_follow_are_told(server: &Postgres) {
    let (_store, log, start) = new_log(server, "follow");
    let follower = log.follow(start, || ()).unwrap();
    // Only who is told knows before that.
    follower.set_poll(Duration::from_secs(600));
    std::thread::sleep(Duration::from_secs(1));
    let behind = append_groups(&log, start, 20)[20];
    let began = Instant::now();
    while follower.status().position != behind {
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", follower.status());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn a_database_that_was_set_back_accepts_nothing(server: &Postgres) {
    let (_store, log, start) = new_log(server, "back");
    let positions = append_groups(&log, start, 2);
    let chain = server.sql("back", "select encode(chain, 'hex') from bindery_head");
    let more = append_groups(&log, positions[2], 2);
    assert_eq!(log.compare(&more[2]).unwrap(), crate::PositionMatch::Same);
    let set_back = format!("update bindery_head set seq = 2, chain = decode('{}', 'hex')", chain.trim());
    server.sql("back", &format!("delete from bindery_log where seq > 2; {set_back}"));
    let refused = |position: &Position| {
        let error = log.append(position, &[b"next".to_vec()], 1, &mut patient).unwrap_err();
        let AppendError::Unreachable(cause) = &error else { panic!("{error}") };
        assert!(matches!(**cause, ClusterError::SetBack { .. }), "{cause}");
        cause.to_string()
    };
    assert!(refused(&more[2]).contains("its log ends with group 2, and this node has group 4"));
    // A node that reads notices it, too.
    assert!(matches!(log.read(&more[2]), Err(ClusterError::SetBack { .. })));
    assert!(matches!(log.confirm(&more[2]), Err(ClusterError::SetBack { .. })));

    // Another node goes on from what is there, up to the number that this one has.
    let other = store_with(server, "bindery", "back", PASSWORD).unwrap().log(&log.history(), "b").unwrap();
    append_groups(&other, positions[2], 2);
    assert!(refused(&more[2]).contains("its log ends with group 4"));
    assert!(matches!(log.compare(&more[2]), Ok(crate::PositionMatch::Other)));
}

fn what_was_cut_off_at_the_end_is_no_base(server: &Postgres) {
    let (_store, log, start) = new_log(server, "cut");
    let position = append_groups(&log, start, 1)[1];
    // The parts are lost before the object is shown.
    server.sql(
        "cut",
        "create function lose() returns trigger language plpgsql as $$ begin return null; end $$; \
         create trigger lose before insert on bindery_base for each row when (new.first > 0) execute function lose()",
    );
    let file = bases::write_file(20 << 20);
    let error = log.upload_base(file.path(), &position, &|| true).unwrap_err();
    assert!(error.to_string().contains("some of its parts are missing"), "{error}");
    assert_eq!(log.newest_bases(9).unwrap().len(), 1);
}

#[test]
fn a_server_that_cannot_hold_a_log_says_why() {
    let Some(server) = Postgres::start() else { return };
    let refusal = |user: &str, database: &str, password: &str| {
        let store = store_with(&server, user, database, password).unwrap();
        store.cluster().unwrap_err()
    };
    let error = refusal("bindery", "bindery", "wrong");
    assert!(matches!(error, ClusterError::Denied { .. }), "{error}");
    let error = refusal("nobody", "bindery", "wrong");
    assert!(matches!(error, ClusterError::Denied { .. }), "{error}");
    let error = refusal("bindery", "missing", PASSWORD);
    assert!(matches!(error, ClusterError::NoBucket { .. }), "{error}");

    server.sql(
        "postgres",
        &format!("create user reader password '{PASSWORD}'; grant connect on database bindery to reader"),
    );
    let reader = store_with(&server, "reader", "bindery", PASSWORD).unwrap();
    let error = reader.probe().unwrap_err();
    assert!(matches!(error, ClusterError::Denied { .. }), "{error}");

    server.sql("postgres", "alter database bindery set synchronous_commit = off");
    let error = refusal("bindery", "bindery", PASSWORD);
    assert!(error.to_string().contains("synchronous_commit is `off`"), "{error}");
    server.sql("postgres", "alter database bindery reset synchronous_commit");

    // A standby, and a primary that an operator has closed, accept no writes.
    server.sql("postgres", "alter database bindery set default_transaction_read_only = on");
    let error = refusal("bindery", "bindery", PASSWORD);
    assert!(matches!(error, ClusterError::Unreachable { .. }), "{error}");
    server.sql("postgres", "alter database bindery reset default_transaction_read_only");
    assert!(matches!(refusal("bindery", "bindery", PASSWORD), ClusterError::NoCluster { .. }));
}

#[test]
fn an_address_that_cannot_be_used_says_what_would_be_right() {
    let refusal = |address: &str| Store::open(address).unwrap_err().to_string();
    let secret = refusal("postgres://cms:hunter2@db.example/cms");
    assert!(secret.contains("PGPASSWORD") && secret.contains("postgres://cms:…@db.example/cms"), "{secret}");
    assert!(!secret.contains("hunter2"), "{secret}");
    assert!(!refusal("postgres://cms@db.example/cms?password=hunter2").contains("hunter2"));
    assert!(refusal("postgres://cms@db.example/cms?sslmode=perhaps").contains("sslmode"));
    assert!(refusal("postgres:///cms").contains("it names no host"));
    // Several hosts, of which the one that accepts writes is used.
    Store::open("postgres://cms@one.example:5432,two.example:5433/cms?sslmode=require").unwrap();
    Store::open("postgresql://cms@db.example/cms").unwrap();
}
