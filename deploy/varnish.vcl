# Varnish in front of Bindery, for visitors without a token (docs/cdn.md). Needs Varnish 7 and the module `var` (in Debian:
# the packages varnish and varnish-modules), and Bindery with --cache-tags. Set the four values marked "Set".
vcl 4.1;

import std;
import var;

# Set: the address of Bindery. For several servers, use a director.
backend bindery {
    .host = "127.0.0.1";
    .port = "7700";
}

# Set: the machines on which Bindery runs. Only they may purge.
acl bindery_servers {
    "localhost";
}

sub vcl_recv {
    if (req.url == "/purge") {
        return (synth(404));
    }
    # Set: a path that nobody can guess. The webhook's address is http://VARNISH/ and this path.
    if (req.url == "/purge/a-path-that-nobody-can-guess") {
        if (req.method != "POST" || client.ip !~ bindery_servers) {
            return (synth(403));
        }
        # The number first: an answer that is on its way while the purge arrives is then recognized as too old.
        if (std.integer(req.http.Bindery-Number, 0) > std.integer(var.global_get("number"), 0)) {
            var.global_set("number", req.http.Bindery-Number);
        }
        # Tags are slugs and ids: letters, digits, hyphens and underscores. A test message has none.
        if (req.http.Surrogate-Key ~ "^[a-z0-9_-]+( [a-z0-9_-]+)*$" && !std.ban("obj.http.Surrogate-Key ~ (^|\s)("
            + regsuball(req.http.Surrogate-Key, " ", "|") + ")(\s|$)")) {
            return (synth(500, std.ban_error()));
        }
        return (synth(200));
    }
    # The token below is for lists and resources only.
    if (req.url !~ "^/v2/resources/") {
        return (synth(404));
    }
    if (req.method != "GET" && req.method != "HEAD") {
        return (synth(405));
    }
    # Everybody gets the same content. Only `Origin` chooses between answers, if `cors_origins` is set.
    unset req.http.Authorization;
    unset req.http.Cookie;
    unset req.http.Bindery-After;
    return (hash);
}

sub vcl_backend_fetch {
    # Set: a token with the ability `view`, and only of the blueprints that visitors may read.
    set bereq.http.Authorization = "Bearer TOKEN";
    # Of several servers, one that has not yet applied what was purged must not fill the cache.
    if (var.global_get("number")) {
        set bereq.http.Bindery-After = var.global_get("number");
    }
}

sub vcl_backend_response {
    if (!beresp.http.Surrogate-Key
        || std.integer(beresp.http.Bindery-Number, 0) < std.integer(var.global_get("number"), 0)) {
        # It has no tags (an error, an export), or was made before something that was purged meanwhile.
        set beresp.uncacheable = true;
        set beresp.ttl = 1s;
        return (deliver);
    }
    # Lists with filters such as `today` change without a write: keep them no longer than they may be late.
    set beresp.ttl = 1h;
    set beresp.grace = 0s;
    set beresp.keep = 0s;
    # The token is the same for everybody, and Varnish compresses by itself. With `cors_origins`, an answer names the site whose
    # pages may read it. It may come in a header line of its own.
    std.collect(beresp.http.Vary);
    if (beresp.http.Vary ~ "(?i)(^|[ ,])origin([ ,]|$)") {
        set beresp.http.Vary = "Origin";
    } else {
        unset beresp.http.Vary;
    }
    # Without this, Varnish would follow the `Cache-Control` of Bindery, which is for browsers.
    return (deliver);
}

sub vcl_deliver {
    # Browsers ask each time. Varnish answers 304 if nothing changed.
    set resp.http.Cache-Control = "public, no-cache";
    unset resp.http.Surrogate-Key;
    unset resp.http.Cache-Tag;
    unset resp.http.Bindery-Number;
}
