//! Imports (`API.md` 4.11): reads lines from the body and answers each with a line. Must not know the content of a
//! line.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bindery_content::{Import, ImportLine};
use bindery_model::ability::Ability;
use bindery_model::error::{Code, Error, Result};
use bindery_model::sent::quote;
use bindery_model::value::FieldRemovals;
use bindery_query::RawParams;
use serde_json::json;

use crate::error::{Answer, Failure, error_object};
use crate::handlers::answers::{Answers, answers};
use crate::request::head::{Call, Credentials};
use crate::request::idempotency::{Post, RenderedResponse};
use crate::transport::body::JsonBody;
use crate::transport::lines::{Line, Lines};

/// The accepted types of the body; the first is also the type of the response.
const LINE_TYPES: [&str; 3] = ["application/x-ndjson", "application/ndjson", "application/json"];

/// The lines that are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineSelection {
    All,
    /// The answers to failed lines only. A summary at the end counts all.
    Failures,
}

impl LineSelection {
    fn parse(raw_query: &str) -> Result<LineSelection> {
        match RawParams::parse(raw_query).single("answers")? {
            None | Some("all") => Ok(LineSelection::All),
            Some("failures") => Ok(LineSelection::Failures),
            Some(other) => {
                let text = format!("`answers` is {}; it must be `all` or `failures`", quote(other));
                Err(Error::new(Code::InvalidParameter, text))
            }
        }
    }
}

/// The selection of answered lines, and the counts for the last lines of the response.
struct Report {
    wanted: LineSelection,
    created: u64,
    updated: u64,
    failed: u64,
    sanitized: FieldRemovals,
}

async fn begin(call: &Call<String>, credentials: Credentials) -> Result<Import, Error> {
    let (app, content) = (call.app.clone(), &call.app.content);
    let import = content.checked(|| content.import(&call.access, &call.path, &call.query)).await?;
    Ok(import.looking_again(move || credentials.access(&app).map_err(Failure::into_error)))
}

/// Handles an import. With an `Idempotency-Key` the body is read completely, since the key stands for all of it.
/// Without one it is streamed.
pub(crate) async fn import(call: Call<String>, credentials: Credentials, request: Post) -> Answer {
    // An invalid `answers` is reported only after the errors of `begin`.
    let wanted = LineSelection::parse(&call.query);
    if !request.has_key() {
        let import = begin(&call, credentials).await?;
        return stream(import, Report::new(wanted?), request.into_body(), call.max_body_bytes()).await;
    }
    let for_render = *wanted.as_ref().unwrap_or(&LineSelection::All);
    let render = move |lines: &Vec<ImportLine>| {
        let mut report = Report::new(for_render);
        let lines = report.lines(lines) + &report.end();
        RenderedResponse::new(StatusCode::OK, lines).with(header::CONTENT_TYPE, LINE_TYPES[0])
    };
    let import = async |body: JsonBody, idempotent: Option<_>| {
        let import = begin(&call, credentials).await?;
        wanted?;
        let body = body.read_as(call.max_body_bytes(), &LINE_TYPES).await?;
        let idempotent = idempotent.ok_or_else(|| Error::internal("a body was read, but not fingerprinted"))?;
        Ok(import.once(body, idempotent).await?)
    };
    request.answer(&call, Ability::Manage, render, import).await
}

async fn stream(import: Import, report: Report, body: JsonBody, max_line_bytes: usize) -> Answer {
    let (chunks, charge) = body.into_stream(&LINE_TYPES)?;
    let (answers, waiting) = answers(charge.another());
    tokio::spawn(run(import, Lines::new((chunks, charge), max_line_bytes), report, answers));
    let body = waiting.body().await;
    Ok(([(header::CONTENT_TYPE, LINE_TYPES[0])], Response::new(body)).into_response())
}

/// Imports line by line. The status may already be sent, so an error that ends the import early is reported in a line
/// of the response.
async fn run(mut import: Import, lines: Lines, mut report: Report, mut answers: Answers) {
    if let Err(error) = import_lines(&mut import, lines, &mut report, &mut answers).await {
        let last = import.settle().await;
        answers.push(report.lines(&last)).await;
        answers.push(format!("{}\n", json!({ "errors": error_object(&error) }))).await;
        // The import ended early, so the list of sanitized parts would be incomplete.
        report.sanitized = FieldRemovals::default();
    }
    answers.push(report.end()).await;
    answers.begin();
}

async fn import_lines(import: &mut Import, mut lines: Lines, report: &mut Report, answers: &mut Answers) -> Result<()> {
    loop {
        let results = tokio::select! {
            biased;
            line = answers.unless_silent(lines.next()) => match line.transpose()? {
                // A client may wait for answers before it sends more.
                None => import.flush().await?,
                Some(None) => break,
                Some(Some(Line::Whole(line))) => import.push(&line).await?,
                Some(Some(Line::TooLong(error))) => import.refuse(error).await?,
            },
            () = import.answered() => import.take_ready().await?,
        };
        answers.push(report.lines(&results)).await;
    }
    answers.begin();
    while let Some(results) = import.finish_next().await? {
        answers.push(report.lines(&results)).await;
    }
    Ok(())
}

impl Report {
    fn new(wanted: LineSelection) -> Report {
        Report { wanted, created: 0, updated: 0, failed: 0, sanitized: FieldRemovals::default() }
    }

    /// Returns the answers to the selected lines.
    fn lines(&mut self, results: &[ImportLine]) -> String {
        let mut out = String::new();
        for ImportLine { index, result } in results {
            let line = match result {
                Ok(imported) => {
                    self.sanitized.add(&imported.sanitized);
                    *if imported.op == "created" { &mut self.created } else { &mut self.updated } += 1;
                    if self.wanted == LineSelection::Failures {
                        continue;
                    }
                    json!({ "index": index, "id": imported.id.to_string(), "op": imported.op })
                }
                Err(error) => {
                    self.failed += 1;
                    json!({ "index": index, "errors": error_object(error) })
                }
            };
            out.push_str(&line.to_string());
            out.push('\n');
        }
        out
    }

    /// Returns the last lines: the parts that sanitizing removed, if any, and the summary, if it was asked for.
    fn end(&self) -> String {
        let mut out = String::new();
        if !self.sanitized.is_empty() {
            out += &format!("{}\n", json!({ "sanitized": self.sanitized.to_json() }));
        }
        if self.wanted == LineSelection::Failures {
            let Report { created, updated, failed, .. } = self;
            let counts = json!({ "created": created, "updated": updated, "failed": failed });
            out += &format!("{}\n", json!({ "summary": counts }));
        }
        out
    }
}
