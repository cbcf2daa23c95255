//! The handler of imports: an access log in, its outcome out (`API.md` 4.8.2).

use axum::extract::Request;
use axum::http::StatusCode;
use bindery_analytics::ImportOutcome;
use bindery_model::ability::Ability;
use bindery_model::error::{Code, Error};
use bindery_query::RawParams;
use serde::{Deserialize, Serialize};
use tokio_stream::StreamExt;

use super::params;
use crate::answer::respond;
use crate::error::Answer;
use crate::request::head::{Call, Credentials};
use crate::request::idempotency::KeyedRequest;

/// The body of the answer to an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // The fields are those of `ImportOutcome`.
pub struct ImportBody {
    pub lines: u64,
    pub pageviews: u64,
    pub added: u64,
    pub robots: u64,
    pub others: u64,
    pub bad: u64,
    /// The number and the text of each line.
    pub first_bad: Vec<(u64, String)>,
}

impl From<ImportOutcome> for ImportBody {
    fn from(outcome: ImportOutcome) -> ImportBody {
        let ImportOutcome { lines, pageviews, added, robots, others, bad, first_bad } = outcome;
        let first_bad = first_bad.into_iter().map(|line| (line.number, line.text)).collect();
        ImportBody { lines, pageviews, added, robots, others, bad, first_bad }
    }
}

/// `POST /v2/analytics/import`. A log that is imported again adds nothing, so the answer is not kept under a key.
pub(super) async fn import(call: Call, credentials: Credentials, request: Request) -> Answer {
    KeyedRequest::of(&request).key(&call, Ability::Manage)?;
    let Call { app, query, .. } = call;
    let site = params::required_site(&RawParams::parse(&query))?;
    let analytics = app.analytics.counting()?;
    let mut import = analytics.import(&site)?;
    let mut body = request.into_body().into_data_stream();
    loop {
        let piece = body.next().await.transpose();
        let piece = piece.map_err(|_| Error::new(Code::MalformedJson, "the body breaks off before its end"))?;
        // The sender may lose its access while the body arrives.
        credentials.access(&app)?.require(&[Ability::Manage])?;
        let Some(piece) = piece else { break };
        // Each piece gets its own blocking call, so that a client that sends slowly holds no thread.
        let reading = tokio::task::spawn_blocking(move || {
            import.push(&piece);
            import
        });
        import = reading.await.map_err(Error::internal)?;
    }
    let finishing = tokio::task::spawn_blocking(move || {
        let outcome = import.finish()?;
        app.analytics.publish(&analytics)?;
        Ok::<_, Error>(outcome)
    });
    let outcome = finishing.await.map_err(Error::internal)??;
    let body = serde_json::to_string(&ImportBody::from(outcome)).map_err(Error::internal)?;
    Ok(respond::json(StatusCode::OK, body))
}
