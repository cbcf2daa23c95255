#![allow(clippy::unwrap_used)]

use std::time::Duration;

use clap::{CommandFactory, Parser};

use super::arguments::lifetime;
use super::*;

/// A flag, a variable and a line of the file for one setting, how to print the setting, and its value from each of
/// them.
type Precedence = (&'static str, &'static str, &'static str, fn(&Config) -> String, [&'static str; 3]);
/// Flags, variables, a file, and the message.
type InvalidCase<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], &'a str, &'a str);

fn flags(arguments: &[&str]) -> Settings {
    let cli = Cli::try_parse_from(["bindery", "serve"].iter().chain(arguments)).unwrap();
    match cli.command {
        Command::Serve(serve) => serve.settings,
        other => panic!("{other:?}"),
    }
}

fn resolve(arguments: &[&str], env: &[(&str, &str)], file: &str) -> Result<Config, ConfigError> {
    let lookup = |name: &str| Ok(env.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string()));
    Config::resolve(flags(arguments), lookup, Settings::from_toml(Path::new("own.toml"), file)?)
}

#[test]
fn the_command_line_passes_claps_own_checks() {
    Cli::command().debug_assert();
}

#[test]
fn without_settings_the_defaults_apply() {
    let config = resolve(&[], &[], "").unwrap();
    assert_eq!(config.data, PathBuf::from("bindery-data"));
    assert_eq!(config.listen.to_string(), "127.0.0.1:7700");
    assert_eq!((config.demo, config.public_url, config.admin_token), (false, None, None));
    assert_eq!(config.cors_origins, Vec::<String>::new());
    assert_eq!(config.max_body_bytes, 10 * 1024 * 1024);
    assert_eq!(config.query_timeout.as_secs(), 10);
    assert_eq!((config.max_connections, config.max_buffer_bytes), (None, 256 * 1024 * 1024));
    assert_eq!((config.client_timeout.as_secs(), config.keepalive_timeout.as_secs()), (30, 75));
    assert_eq!(resolve(&["--max-body-bytes=209715200"], &[], "").unwrap().max_buffer_bytes, 400 * 1024 * 1024);
    assert_eq!(config.store_cache_bytes, 32 * 1024 * 1024);
    assert_eq!((config.log_filter.as_str(), config.log_format), ("info", LogFormat::Off));
}

#[test]
fn a_flag_overrides_the_environment_which_overrides_the_file() {
    let table: [Precedence; 17] = [
        (
            "--log-format=text",
            "BINDERY_LOG_FORMAT=json",
            "log_format='off'",
            |c| format!("{:?}", c.log_format),
            ["Text", "Json", "Off"],
        ),
        ("--data=a", "BINDERY_DATA=b", "data='c'", |c| c.data.display().to_string(), ["a", "b", "c"]),
        (
            "--listen=127.0.0.1:1",
            "BINDERY_LISTEN=127.0.0.1:2",
            "listen='127.0.0.1:3'",
            |c| c.listen.port().to_string(),
            ["1", "2", "3"],
        ),
        ("--demo=false", "BINDERY_DEMO=1", "demo=false", |c| c.demo.to_string(), ["false", "true", "false"]),
        (
            "--public-url=http://a/",
            "BINDERY_PUBLIC_URL=http://b/cms/",
            "public_url='https://c:8'",
            |c| c.public_url.clone().unwrap(),
            ["http://a", "http://b/cms", "https://c:8"],
        ),
        (
            "--cors-origins=http://a,http://b",
            "BINDERY_CORS_ORIGINS=*",
            "cors_origins=['http://c:8']",
            |c| c.cors_origins.join(" "),
            ["http://a http://b", "*", "http://c:8"],
        ),
        (
            "--max-body-bytes=1",
            "BINDERY_MAX_BODY_BYTES=2",
            "max_body_bytes=3",
            |c| c.max_body_bytes.to_string(),
            ["1", "2", "3"],
        ),
        (
            "--query-timeout=1",
            "BINDERY_QUERY_TIMEOUT=2",
            "query_timeout=3",
            |c| c.query_timeout.as_secs().to_string(),
            ["1", "2", "3"],
        ),
        (
            "--max-connections=1",
            "BINDERY_MAX_CONNECTIONS=2",
            "max_connections=3",
            |c| c.max_connections.unwrap().to_string(),
            ["1", "2", "3"],
        ),
        (
            "--max-buffer-mib=100",
            "BINDERY_MAX_BUFFER_MIB=200",
            "max_buffer_mib=300",
            |c| (c.max_buffer_bytes >> 20).to_string(),
            ["100", "200", "300"],
        ),
        (
            "--client-timeout=1",
            "BINDERY_CLIENT_TIMEOUT=2",
            "client_timeout=3",
            |c| c.client_timeout.as_secs().to_string(),
            ["1", "2", "3"],
        ),
        (
            "--keepalive-timeout=1",
            "BINDERY_KEEPALIVE_TIMEOUT=2",
            "keepalive_timeout=3",
            |c| c.keepalive_timeout.as_secs().to_string(),
            ["1", "2", "3"],
        ),
        (
            "--log-filter=warn",
            "BINDERY_LOG_FILTER=debug",
            "log_filter='error'",
            |c| c.log_filter.clone(),
            ["warn", "debug", "error"],
        ),
        (
            "--rate-limit-per-token=1/s",
            "BINDERY_RATE_LIMIT_PER_TOKEN=20/m",
            "rate_limit_per_token='300/h'",
            |c| c.rate_limit_per_token.unwrap().to_string(),
            ["1 request in one second", "20 requests in one minute", "300 requests in one hour"],
        ),
        (
            "--rate-limit-per-address=1/s",
            "BINDERY_RATE_LIMIT_PER_ADDRESS=20/m",
            "rate_limit_per_address='300/h'",
            |c| c.rate_limit_per_address.unwrap().to_string(),
            ["1 request in one second", "20 requests in one minute", "300 requests in one hour"],
        ),
        (
            "--video-hosts=a.example,b.example",
            "BINDERY_VIDEO_HOSTS=c.example",
            "video_hosts=[]",
            |c| c.video_hosts.join(" "),
            ["a.example b.example", "c.example", ""],
        ),
        (
            "--store-cache-mib=1",
            "BINDERY_STORE_CACHE_MIB=2",
            "store_cache_mib=3",
            |c| (c.store_cache_bytes >> 20).to_string(),
            ["1", "2", "3"],
        ),
    ];
    for (flag, variable, line, shown, [first, second, third]) in table {
        let env = variable.split_once('=').unwrap();
        assert_eq!(shown(&resolve(&[flag], &[env], line).unwrap()), first, "{flag}");
        assert_eq!(shown(&resolve(&[], &[env], line).unwrap()), second, "{variable}");
        assert_eq!(shown(&resolve(&[], &[], line).unwrap()), third, "{line}");
    }
}

#[test]
fn a_boolean_flag_needs_no_value() {
    assert!(resolve(&["--demo"], &[("BINDERY_DEMO", "no")], "").unwrap().demo);
    assert!(!resolve(&["--demo=off"], &[], "demo=true").unwrap().demo);
}

#[test]
fn the_admin_token_comes_only_from_the_environment() {
    let long = "x".repeat(32);
    let config = resolve(&[], &[("BINDERY_ADMIN_TOKEN", &long)], "").unwrap();
    assert_eq!(config.admin_token.as_ref().unwrap().secret(), long);
    assert!(!format!("{config:?}").contains(&long));
    assert!(Cli::try_parse_from(["bindery", "serve", "--admin-token", &long]).is_err());
    let error = resolve(&[], &[("BINDERY_ADMIN_TOKEN", "é")], "").unwrap_err();
    assert_eq!(error.to_string(), "`BINDERY_ADMIN_TOKEN` has 1 characters; it must have at least 32");
    for unsendable in [format!("{long}\n"), format!(" {long}"), format!("{long}é"), format!("{long}\t{long}")] {
        let error = resolve(&[], &[("BINDERY_ADMIN_TOKEN", &unsendable)], "").unwrap_err();
        assert!(error.to_string().contains("without a line break"), "{error}");
    }
    assert!(resolve(&[], &[("BINDERY_ADMIN_TOKEN", &format!("{long} {long}"))], "").is_ok());
}

#[test]
fn an_invalid_setting_is_reported_with_what_is_valid() {
    let origin = "it must be `*` or origins such as `https://www.example.com` (no path, no trailing slash)";
    let table: [InvalidCase; 15] = [
        (
            &[],
            &[("BINDERY_LISTEN", "7700")],
            "",
            "`listen` is `7700`; it must be an address and a port, such as `127.0.0.1:7700` or `localhost:7700`",
        ),
        (
            &[],
            &[("BINDERY_MAX_BODY_BYTES", "much")],
            "",
            "`BINDERY_MAX_BODY_BYTES` is `much`, which `--max-body-bytes` does not accept; see `bindery serve --help`",
        ),
        (
            &["--public-url=cms.example"],
            &[],
            "",
            "`public_url` is `cms.example`; it must be a URL such as `https://cms.example.com`",
        ),
        (
            &["--public-url=http://a/?x"],
            &[],
            "",
            "`public_url` is `http://a/?x`; it must be a URL such as `https://cms.example.com`",
        ),
        (
            &["--cors-origins=https://a.example/"],
            &[],
            "",
            &format!("`cors_origins` has `https://a.example/`; {origin}"),
        ),
        (&[], &[("BINDERY_CORS_ORIGINS", "a.example")], "", &format!("`cors_origins` has `a.example`; {origin}")),
        (&[], &[], "data=''", "`data` is empty; it must be the path of a folder"),
        (&[], &[], "max_body_bytes=0", "`max_body_bytes` is 0; it must be 1 or more"),
        (&[], &[], "query_timeout=0", "`query_timeout` is 0; it must be 1 or more"),
        (&[], &[], "max_connections=0", "`max_connections` is 0; it must be 1 or more"),
        (&[], &[], "client_timeout=0", "`client_timeout` is 0; it must be 1 or more"),
        (&[], &[], "max_buffer_mib=19", "`max_buffer_mib` is 19; with this `max_body_bytes` it must be 20 or more"),
        (&[], &[], "store_cache_mib=0", "`store_cache_mib` is 0; it must be 1 or more"),
        (
            &["--rate-limit-per-token=0/s"],
            &[],
            "",
            "`rate_limit_per_token` is `0/s`; it must be 1 or more in a second, minute or hour, such as `50/s`, `3000/m` or `9000/h`",
        ),
        (
            &[],
            &[("BINDERY_RATE_LIMIT_PER_ADDRESS", "50")],
            "",
            "`rate_limit_per_address` is `50`; it must be 1 or more in a second, minute or hour, such as `50/s`, `3000/m` or `9000/h`",
        ),
    ];
    for (arguments, env, file, expected) in table {
        assert_eq!(resolve(arguments, env, file).unwrap_err().to_string(), expected);
    }
    let error = resolve(&[], &[], "lisen='127.0.0.1:1'").unwrap_err().to_string();
    for part in ["own.toml", "lisen", "`listen`", "`store_cache_mib`"] {
        assert!(error.contains(part), "{part} in {error}");
    }
    let error = resolve(&["--log-filter=warn,inffo"], &[], "").unwrap_err().to_string();
    assert!(error.starts_with("`log_filter` has `inffo`, which is no level; levels are `off`, `error`"), "{error}");
    assert!(
        resolve(&["--log-filter=,,=x=y"], &[], "").unwrap_err().to_string().starts_with("`log_filter` is `,,=x=y`")
    );
}

#[test]
fn the_address_of_a_node_is_a_host_and_a_port() {
    let with = |address: &str| resolve(&["--log=file:///log"], &[("BINDERY_NODE_ADDRESS", address)], "");
    for valid in ["10.0.0.5:7700", "node-1.example.com:80", "node_1:7700", "[fd00::5]:7700"] {
        let cluster = with(valid).unwrap().cluster.unwrap();
        assert_eq!(cluster.node_address.as_deref(), Some(valid));
    }
    // A file for `EnvironmentFile=` of systemd has no comments behind values.
    let commented = "10.0.0.5:7700    # where the other nodes reach this one";
    for invalid in [commented, "10.0.0.5", "10.0.0.5:", "10.0.0.5:0", ":7700", "a b:7700", "http://10.0.0.5:7700"] {
        let error = with(invalid).unwrap_err().to_string();
        assert!(error.starts_with(&format!("`node_address` is `{invalid}`; it must be a name or an IP")), "{error}");
    }
}

#[test]
fn sizes_have_units_and_addresses_may_have_names() {
    for (file, bytes) in [
        ("max_body_bytes=77", 77),
        ("max_body_bytes='10MB'", 10_000_000),
        ("max_body_bytes='2 MiB'", 2 << 20),
        ("max_body_bytes='512kb'", 512_000),
    ] {
        assert_eq!(resolve(&[], &[], file).unwrap().max_body_bytes, bytes, "{file}");
    }
    assert_eq!(resolve(&["--max-body-bytes=3GB"], &[], "").unwrap().max_body_bytes, 3_000_000_000);
    let listen = resolve(&["--listen=localhost:7701"], &[], "").unwrap().listen;
    assert!(listen.ip().is_loopback() && listen.port() == 7701, "{listen}");
}

#[test]
fn each_setting_says_where_it_comes_from() {
    let sources = Sources {
        flags: &flags(&["--listen=127.0.0.1:1", "--analytics-sites=a.example"]),
        environment: &Settings::from_env(|name| Ok((name == "BINDERY_LOG_FILTER").then(|| "warn".to_owned()))).unwrap(),
        file: &Settings::from_toml(
            Path::new("own.toml"),
            "log_filter='debug'\nmax_body_bytes='1MB'\n[analytics]\nretention_days=9",
        )
        .unwrap(),
        file_name: "own.toml".to_owned(),
    };
    let found = sources.settings();
    let shown = |name: &str| {
        let setting = found.iter().find(|setting| setting.name == name).unwrap();
        (setting.value.to_string(), setting.source.clone())
    };
    for (name, value, source) in [
        ("listen", "\"127.0.0.1:1\"", "--listen"),
        ("log_filter", "\"warn\"", "BINDERY_LOG_FILTER"),
        ("max_body_bytes", "1000000", "own.toml"),
        ("query_timeout", "10", "default"),
        ("public_url", "null", "default"),
        ("analytics.sites", "[\"a.example\"]", "--analytics-sites"),
        ("analytics.retention_days", "9", "own.toml"),
        ("analytics.forwarded_header", "\"X-Forwarded-For\"", "default"),
    ] {
        assert_eq!(shown(name), (value.to_owned(), source.to_owned()), "{name}");
    }
}

#[test]
fn a_file_that_is_named_must_exist() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.toml");
    let error = Config::load(Settings::default(), Some(&path)).unwrap_err().to_string();
    assert!(error.starts_with("the configuration file `") && error.contains("own.toml"), "{error}");
    std::fs::write(&path, "max_body_bytes = 77").unwrap();
    assert_eq!(Config::load(Settings::default(), Some(&path)).unwrap().max_body_bytes, 77);
}

#[test]
fn token_and_import_commands_are_parsed() {
    let cli = |line: &str| Cli::try_parse_from(line.split(' ')).map(|cli| cli.command);
    let create = "bindery token create --name N --abilities view,preview --blueprints a,b --expires 30d --data D";
    let Command::Token(TokenArgs { command: TokenCommand::Create { name, abilities, blueprints, expires, server } }) =
        cli(create).unwrap()
    else {
        panic!("not a token create")
    };
    assert_eq!((name.as_str(), abilities.join(" ").as_str()), ("N", "view preview"));
    assert_eq!(blueprints.unwrap(), ["a", "b"]);
    assert_eq!(expires, Some(Duration::from_secs(30 * 86_400)));
    assert_eq!(server.folder.settings().data, Some(PathBuf::from("D")));

    assert!(matches!(cli("bindery token list"), Ok(Command::Token(_))));
    assert!(matches!(cli("bindery token revoke 3 --url http://a --token t"), Ok(Command::Token(_))));
    let Ok(Command::Import(import)) = cli("bindery import articles a.ndjson.gz") else { panic!("not an import") };
    assert_eq!((import.blueprint.as_str(), import.file), ("articles", PathBuf::from("a.ndjson.gz")));
    for wrong in [
        "bindery token create --name N",
        "bindery import articles",
        "bindery token list --url http://a --token t --data D",
    ] {
        assert!(cli(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_lifetime_needs_a_number_and_a_unit() {
    let table = [("90m", Some(5_400)), ("12h", Some(43_200)), ("1d", Some(86_400)), ("2w", Some(1_209_600))];
    for (text, seconds) in table {
        assert_eq!(lifetime(text).ok(), seconds.map(Duration::from_secs), "{text}");
    }
    for wrong in ["", "d", "30", "0d", "-1d", "1.5d", "1y", "9999999999999999999w", "999999999w", "1 d"] {
        assert!(lifetime(wrong).is_err(), "{wrong}");
    }
}
