-- Each request takes the next path of the file in URLS. Prints one line of figures, in milliseconds.
local paths, at = {}, 0
function init(args)
  for line in io.lines(os.getenv("URLS")) do paths[#paths + 1] = line end
  wrk.headers["Authorization"] = "Bearer " .. os.getenv("TOKEN")
  -- The host of the other clients: an answer has links with it, so its tag depends on it.
  wrk.headers["Host"] = "localhost"
  local etag = os.getenv("ETAG")
  if etag and etag ~= "" then wrk.headers["If-None-Match"] = etag end
end
function request()
  at = at % #paths + 1
  return wrk.format("GET", paths[at])
end
function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format('RESULT {"p95": %.4f, "p99": %.4f, "per_second": %.1f, "n": %d, "failed": %d, "bytes": %d}\n',
    latency:percentile(95) / 1e3, latency:percentile(99) / 1e3,
    summary.requests / (summary.duration / 1e6), summary.requests,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout, summary.bytes))
end
