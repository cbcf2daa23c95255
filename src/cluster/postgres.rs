//! The objects of a cluster in PostgreSQL: a database that offers what the log needs of object storage.
//!
//! Owns the tables and their statements. The names of objects say where they are: groups of the log have rows of their
//! own behind a head that fences them, everything else is a row in `bindery_object`, whose bytes are in `bindery_base`
//! if it was sent in parts. Must not know what an object means.
//!
//! A group is created by one statement that moves the head from the group before it, which must have the chain hash
//! that the group continues. So a number that was used is never free again, and removed groups need no row: each number
//! up to `removed` that has none is an empty object. If a standby was promoted without the last writes, nodes that have
//! them notice it by the head.

mod connect;

use std::fmt::{self, Display, Formatter};
use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use chrono::{TimeDelta, Utc};
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart,
};
use tokio_postgres::Row;

use connect::Parameter::{self, BigInt, Blob, Int, Text};
use connect::STORE;
pub(crate) use connect::{Database, NO_DATABASE, SetBack};

use crate::group::Group;

/// Made by the first node that creates an object. The lock keeps others from making them at the same time.
const TABLES: &str = "
    select pg_advisory_xact_lock(7021964583021);
    create table if not exists bindery_head (
        history int primary key, seq bigint not null, chain bytea not null, removed bigint not null default 0);
    create table if not exists bindery_log (
        history int, seq bigint, body bytea not null, at timestamptz not null default now(), primary key (history, seq));
    create table if not exists bindery_object (
        name text primary key, body bytea, bytes bigint not null, at timestamptz not null default now());
    create table if not exists bindery_base (
        name text, first bigint, body bytea not null, at timestamptz not null default now(), primary key (name, first));
    alter table bindery_base alter column body set storage external;";

/// Returns whether the group was created. If not, the last group as it was when the statement began, and whether it has
/// the chain hash.
const CREATE_GROUP: &str = "
    with fence as (
        insert into bindery_head as head (history, seq, chain)
        select $1, $2, $5 where $2 = 1 or exists (select from bindery_head where history = $1)
        on conflict (history) do update set seq = excluded.seq, chain = excluded.chain
        where head.seq = excluded.seq - 1 and head.chain = $4
        returning seq),
    created as (insert into bindery_log (history, seq, body) select $1, seq, $3 from fence returning seq),
    told as (select pg_notify('bindery_log', concat($1, '/', seq)) from created)
    select exists (select from told), coalesce((select seq from bindery_head where history = $1), 0),
    coalesce((select chain = $4 from bindery_head where history = $1), true)";
/// Ends once everything that is visible is as durable as a commit is, because it waits like one.
const WAIT_UNTIL_DURABLE: &str = "update bindery_head set removed = removed";
const REMOVE_GROUP: &str = "
    with gone as (delete from bindery_log where history = $1 and seq = $2)
    update bindery_head set removed = greatest(removed, $2) where history = $1";
// Times are ages, so that the clocks of the node and of the database may differ.

/// Returns the last group, and whether this one exists; its size and time are null if it was removed.
const FIND_GROUP: &str = "
    select octet_length(log.body)::bigint, extract(epoch from now() - log.at)::float8,
    case when octet_length(log.body) <= $3 then log.body end, log.seq is not null or $2 <= head.removed, head.seq
    from bindery_head head left join bindery_log log on log.history = head.history and log.seq = $2 where head.history = $1";
const READ_GROUP: &str = "select substring(body from $3 for $4) from bindery_log where history = $1 and seq = $2";
const LIST_GROUPS: &str = "
    select octet_length(body)::bigint, extract(epoch from now() - at)::float8, seq from bindery_log
    where history = $1 and seq > $2 order by seq";

const CREATE_OBJECT: &str = "
    insert into bindery_object (name, body, bytes) values ($1, $2, octet_length($2)) on conflict do nothing returning true";
const PUT_OBJECT: &str = "
    insert into bindery_object (name, body, bytes) values ($1, $2, octet_length($2))
    on conflict (name) do update set body = excluded.body, bytes = excluded.bytes, at = now()";
const FIND_OBJECT: &str = "
    select bytes, extract(epoch from now() - at)::float8, case when octet_length(body) <= $2 then body end, body is null
    from bindery_object where name = $1";
const READ_OBJECT: &str = "select substring(body from $2 for $3) from bindery_object where name = $1";
const LIST_OBJECTS: &str = "
    select bytes, extract(epoch from now() - at)::float8, name from bindery_object where starts_with(name, $1)";
const REMOVE_OBJECT: &str = "
    with parts as (delete from bindery_base where name = $1) delete from bindery_object where name = $1";

const PUT_PART: &str = "insert into bindery_base (name, first, body) values ($1, $2, $3)";
/// Shows the object if all of its parts have arrived.
const SHOW_PARTS: &str = "
    insert into bindery_object (name, bytes) select $1, $2
    where $2 = (select sum(octet_length(body)) from bindery_base where name = $1) returning true";
const READ_PARTS: &str = "
    select substring(body from (greatest($2 - first, 0) + 1)::int for ($3 - greatest($2, first))::int) from bindery_base
    where name = $1 and first < $3 and first + octet_length(body) > $2 order by first";
const REMOVE_PARTS: &str = "delete from bindery_base where name = $1";
/// Removes the parts of uploads that ended with their process.
const REMOVE_LOST_PARTS: &str = "
    delete from bindery_base part where at < now() - interval '1 day'
    and not exists (select from bindery_object object where object.name = part.name)";

/// The bytes of larger objects are not read along with their size.
const SMALL_BYTES: i32 = 64 << 10;
/// The most bytes that one statement reads.
const PIECE_BYTES: u64 = 8 << 20;

/// The place of an object.
enum Place<'p> {
    Group { history: i32, seq: i64 },
    Object(&'p str),
}

/// The place of the bytes of an object.
#[derive(Clone, Copy)]
enum Stored {
    Group,
    Object,
    Parts,
}

impl Place<'_> {
    fn of(path: &Path) -> Place<'_> {
        let name = path.as_ref();
        let group = || {
            let (history, seq) = name.split_once("/log/")?;
            Some(Place::Group { history: history.parse().ok()?, seq: seq.parse().ok()? })
        };
        group().unwrap_or(Place::Object(name))
    }
}

impl Database {
    /// Creates an object unless one of this name exists.
    async fn create(&self, path: &Path, body: &[u8]) -> Result<bool> {
        let Place::Group { history, seq } = Place::of(path) else {
            let rows = self.query(path, CREATE_OBJECT, &[Text(path.as_ref()), Blob(body)]).await?;
            return Ok(!rows.is_empty());
        };
        let Some([previous, chain]) = Group::hashes(body) else { return Err(unsupported("creating what is no group")) };
        let parameters = [Int(history), BigInt(seq), Blob(body), Blob(&previous), Blob(&chain)];
        let rows = self.query(path, CREATE_GROUP, &parameters).await?;
        let [row] = &rows[..] else { return Ok(false) };
        if row.get(0) {
            return Ok(true);
        }
        let (last, continues): (i64, bool) = (row.get(1), row.get(2));
        let is_set_back = last < seq - 1 || (last == seq - 1 && !continues);
        if is_set_back { Err(self.set_back(last, seq - 1)) } else { Ok(false) }
    }

    /// Waits until everything that can be read is durable. A row is visible to others only once its commit was
    /// replicated, unless the server crashed or somebody ended that wait.
    pub(crate) async fn wait_until_durable(&self) -> Result<()> {
        self.query(&Path::default(), WAIT_UNTIL_DURABLE, &[]).await.map(drop)
    }

    async fn overwrite(&self, path: &Path, body: &[u8]) -> Result<()> {
        match Place::of(path) {
            Place::Object(name) => self.query(path, PUT_OBJECT, &[Text(name), Blob(body)]).await.map(drop),
            Place::Group { history, seq } if body.is_empty() => {
                self.query(path, REMOVE_GROUP, &[Int(history), BigInt(seq)]).await.map(drop)
            }
            Place::Group { .. } => Err(unsupported("overwriting a group")),
        }
    }

    /// Like [`Database::query`], but finds nothing if there are no tables yet.
    async fn look(&self, path: &Path, sql: &str, parameters: &[Parameter<'_>]) -> Result<Vec<Row>> {
        match self.query(path, sql, parameters).await {
            Err(error) if connect::is_missing_table(&error) => Ok(Vec::new()),
            result => result,
        }
    }

    /// Returns what is known of an object, its bytes if they are few, and where they are.
    async fn find(&self, path: &Path) -> Result<(ObjectMeta, Option<Bytes>, Stored)> {
        let mut rows = match Place::of(path) {
            Place::Group { history, seq } => self.find_group(path, history, seq).await?,
            Place::Object(name) => self.look(path, FIND_OBJECT, &[Text(name), Int(SMALL_BYTES)]).await?,
        };
        let Some(row) = rows.pop() else {
            return Err(Error::NotFound { path: path.to_string(), source: "the table has no such row".into() });
        };
        let meta = meta(path.clone(), &row);
        let place = match Place::of(path) {
            Place::Group { .. } => Stored::Group,
            Place::Object(_) if row.get(3) => Stored::Parts,
            Place::Object(_) => Stored::Object,
        };
        let small = if meta.size == 0 { Some(Bytes::new()) } else { row.get::<_, Option<Vec<u8>>>(2).map(Bytes::from) };
        Ok((meta, small, place))
    }

    /// Returns a row if the group exists.
    async fn find_group(&self, path: &Path, history: i32, seq: i64) -> Result<Vec<Row>> {
        let known = self.last_known(history);
        let mut rows = self.look(path, FIND_GROUP, &[Int(history), BigInt(seq), Int(SMALL_BYTES)]).await?;
        let last = rows.first().map_or(0, |row| row.get(4));
        if last < known {
            return Err(self.set_back(last, known));
        }
        self.note_last(history, last);
        rows.retain(|row| row.get(3));
        Ok(rows)
    }

    /// Reads an object in pieces.
    fn read_all(&self, path: &Path, place: Stored, range: Range<u64>) -> BoxStream<'static, Result<Bytes>> {
        let (database, path) = (self.clone(), path.clone());
        let starts = stream::iter(range.clone().step_by(PIECE_BYTES as usize));
        starts
            .then(move |start| {
                let (database, path, piece) =
                    (database.clone(), path.clone(), start..range.end.min(start + PIECE_BYTES));
                async move { database.read(&path, place, piece).await }
            })
            .boxed()
    }

    /// Reads bytes of an object.
    async fn read(&self, path: &Path, place: Stored, range: Range<u64>) -> Result<Bytes> {
        let [start, end] = [range.start, range.end].map(|at| i64::try_from(at).unwrap_or(i64::MAX));
        // Groups and whole objects have less than 2 GiB; the first byte is 1.
        let [first, count] = [start + 1, end - start].map(|at| i32::try_from(at).unwrap_or(i32::MAX));
        let rows = match (place, Place::of(path)) {
            (Stored::Group, Place::Group { history, seq }) => {
                self.query(path, READ_GROUP, &[Int(history), BigInt(seq), Int(first), Int(count)]).await?
            }
            (Stored::Parts, _) => {
                self.query(path, READ_PARTS, &[Text(path.as_ref()), BigInt(start), BigInt(end)]).await?
            }
            _ => self.query(path, READ_OBJECT, &[Text(path.as_ref()), Int(first), Int(count)]).await?,
        };
        let parts: Vec<&[u8]> = rows.iter().map(|row| row.get(0)).collect();
        Ok(parts.concat().into())
    }

    async fn list_after(&self, prefix: Path, after: Option<Path>) -> Result<Vec<ObjectMeta>> {
        if let Some(history) = prefix.as_ref().strip_suffix("/log").and_then(|history| history.parse::<i32>().ok()) {
            let after = match after.as_ref().map(Place::of) {
                Some(Place::Group { seq, .. }) => seq,
                _ => 0,
            };
            let rows = self.look(&prefix, LIST_GROUPS, &[Int(history), BigInt(after)]).await?;
            let group = |row: &Row| meta(prefix.clone().join(format!("{:020}", row.get::<_, i64>(2))), row);
            return Ok(rows.iter().map(group).collect());
        }
        let rows = self.look(&prefix, LIST_OBJECTS, &[Text(&format!("{prefix}/"))]).await?;
        let object = |row: &Row| meta(Path::from(row.get::<_, &str>(2)), row);
        let is_wanted = |object: &ObjectMeta| after.as_ref().is_none_or(|after| object.location > *after);
        Ok(rows.iter().map(object).filter(is_wanted).collect())
    }

    fn list_stream(&self, prefix: Option<&Path>, after: Option<Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (database, prefix) = (self.clone(), prefix.cloned().unwrap_or_default());
        let list = async move { database.list_after(prefix, after).await.map(|found| stream::iter(found).map(Ok)) };
        stream::once(list).try_flatten().boxed()
    }
}

#[async_trait]
impl ObjectStore for Database {
    async fn put_opts(&self, path: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let body = Bytes::from(payload);
        match options.mode {
            PutMode::Create => {
                let was_created = match self.create(path, &body).await {
                    Err(error) if connect::is_missing_table(&error) => {
                        self.make_tables(TABLES).await?;
                        self.create(path, &body).await?
                    }
                    result => result?,
                };
                if !was_created {
                    return Err(Error::AlreadyExists {
                        path: path.to_string(),
                        source: "the table has this row".into(),
                    });
                }
            }
            PutMode::Overwrite => self.overwrite(path, &body).await?,
            PutMode::Update(_) => return Err(unsupported("updating an object")),
        }
        Ok(put_result())
    }

    async fn put_multipart_opts(&self, path: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.query(path, REMOVE_LOST_PARTS, &[]).await?;
        Ok(Box::new(Upload { database: self.clone(), path: path.clone(), bytes: 0, may_be_shown: false }))
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        let (meta, small, place) = self.find(path).await?;
        let range = match &options.range {
            None => 0..meta.size,
            Some(range) => {
                range.as_range(meta.size).map_err(|error| Error::Generic { store: STORE, source: Box::new(error) })?
            }
        };
        let pieces = match small {
            Some(all) => stream::iter([Ok(all.slice(range.start as usize..range.end as usize))]).boxed(),
            None => self.read_all(path, place, range.clone()),
        };
        let payload = GetResultPayload::Stream(pieces);
        Ok(GetResult { payload, meta, range, attributes: Default::default(), extensions: Default::default() })
    }

    fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let database = self.clone();
        let remove = move |path: Path| {
            let database = database.clone();
            async move {
                match Place::of(&path) {
                    Place::Group { .. } => Err(unsupported("deleting a group")),
                    Place::Object(name) => {
                        database.query(&path, REMOVE_OBJECT, &[Text(name)]).await.map(|_| path.clone())
                    }
                }
            }
        };
        paths.and_then(remove).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.list_stream(prefix, None)
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        self.list_stream(prefix, Some(offset.clone()))
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> {
        Err(unsupported("listing with a delimiter"))
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(unsupported("copying"))
    }
}

impl Display for Database {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(STORE)
    }
}

/// The upload of an object in parts. Nobody sees it before it is complete.
#[derive(Debug)]
struct Upload {
    database: Database,
    path: Path,
    bytes: u64,
    /// True once it may be complete, although that was not answered.
    may_be_shown: bool,
}

#[async_trait]
impl MultipartUpload for Upload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let (database, path) = (self.database.clone(), self.path.clone());
        let first = self.bytes as i64;
        self.bytes += data.content_length() as u64;
        Box::pin(async move {
            let body = &Bytes::from(data)[..];
            database.query(&path, PUT_PART, &[Text(path.as_ref()), BigInt(first), Blob(body)]).await.map(drop)
        })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.may_be_shown = true;
        let bytes = self.bytes as i64;
        let shown = self.database.query(&self.path, SHOW_PARTS, &[Text(self.path.as_ref()), BigInt(bytes)]).await?;
        match shown.is_empty() {
            true => Err(Error::Generic { store: STORE, source: "some of its parts are missing".into() }),
            false => Ok(put_result()),
        }
    }

    async fn abort(&mut self) -> Result<()> {
        // Without its parts, an object that is shown could not be read. If it is not shown, a later upload removes
        // them.
        if self.may_be_shown {
            return Ok(());
        }
        self.database.query(&self.path, REMOVE_PARTS, &[Text(self.path.as_ref())]).await.map(drop)
    }
}

/// Returns what a row says that begins with a size and an age.
fn meta(location: Path, row: &Row) -> ObjectMeta {
    let size = row.get::<_, Option<i64>>(0).and_then(|size| size.try_into().ok()).unwrap_or_default();
    let age = TimeDelta::milliseconds((row.get::<_, Option<f64>>(1).unwrap_or_default() * 1e3) as i64);
    ObjectMeta { location, last_modified: Utc::now() - age, size, e_tag: None, version: None }
}

fn put_result() -> PutResult {
    PutResult { e_tag: None, version: None, extensions: Default::default() }
}

fn unsupported(operation: &str) -> Error {
    Error::NotImplemented { operation: operation.to_owned(), implementer: STORE.to_owned() }
}
