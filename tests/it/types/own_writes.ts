// Reads what it has written, whichever node of a cluster answers. The nodes are played by a function.
import { Client } from "./bindery.ts";

const asked: (string | null)[] = [];
let number = 0;

const fetcher: typeof fetch = async (_, init) => {
  const after = new Headers(init?.headers).get("Bindery-After");
  asked.push(`${init?.method} ${after}`);
  const isUnknown = after !== null && Number(after) > number;
  const body = isUnknown ? { errors: { code: "INVALID_PARAMETER", message: "no such number" } } : { data: [], links: { next: null } };
  const headers: Record<string, string> = number > 0 ? { "Bindery-Number": String(number) } : {};
  return new Response(JSON.stringify(body), { status: isUnknown ? 422 : 200, headers });
};

const client = new Client("http://cms.example", "a token", fetcher);
const read = () => client.request("GET", "/v2/resources/notes");
const write = () => client.request("POST", "/v2/resources/notes", { body: {} });

// A single server says no number.
await write();
await read();
number = 7;
await write();
await read();
number = 8;
await read();
await read();
// The cluster was restored to an earlier moment.
number = 3;
await read();
await read();

const expected = ["POST null", "GET null", "POST null", "GET 7", "GET 7", "GET 8", "GET 8", "GET null", "GET 3"];
if (JSON.stringify(asked) !== JSON.stringify(expected)) throw new Error(`asked ${JSON.stringify(asked)}`);
