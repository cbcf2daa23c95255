//! The orders of a run in memory. They are made when they are asked for, and brought up to date by sorting what was appended
//! since. It knows nothing of how documents are kept.

use std::sync::Arc;

use parking_lot::Mutex;

use super::merge::OrderInput;
use super::order::{KeyKind, RunOrder};
use crate::collate::Collation;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::schema::ColumnId;
use crate::value::ValueRef;

/// The orders of a run in memory that were asked for.
#[derive(Debug, Default)]
pub(crate) struct MemoryOrders {
    columns: Mutex<Vec<ColumnOrders>>,
}

/// Orders of the first documents, each of the documents that come after those of the order before.
#[derive(Debug)]
struct ColumnOrders {
    column: ColumnId,
    kind: KeyKind,
    collation: String,
    /// The number of documents they cover.
    covered: u32,
    /// Each covers more than twice the documents of the next one, so there are few.
    pieces: Vec<OrderPiece>,
}

#[derive(Debug, Clone)]
struct OrderPiece {
    documents: u32,
    order: Arc<RunOrder>,
}

impl MemoryOrders {
    /// Orders of a column that together hold all documents below `documents`, and perhaps later ones.
    pub(crate) fn get<'a>(
        &self,
        (column, kind): (ColumnId, KeyKind),
        documents: u32,
        value: &'a dyn Fn(u32) -> ValueRef<'a>,
        collation: &Collation,
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<Arc<RunOrder>>, Error> {
        let mut columns = self.columns.lock();
        let is_same = |of: &ColumnOrders| of.column == column && of.kind == kind && of.collation == collation.name();
        let index = columns.iter().position(is_same).unwrap_or_else(|| {
            // Those of another collation are not asked for any more.
            columns.retain(|of| of.column != column);
            let collation = collation.name().to_owned();
            columns.push(ColumnOrders { column, kind, collation, covered: 0, pieces: Vec::new() });
            columns.len() - 1
        });
        let orders = &mut columns[index];
        if orders.covered < documents {
            let order = RunOrder::sorted(kind, orders.covered..documents, value, collation, interrupt)?;
            orders.pieces.push(OrderPiece { documents: documents - orders.covered, order: Arc::new(order) });
            orders.covered = documents;
        }
        while let [.., before, last] = &orders.pieces[..]
            && before.documents <= 2 * last.documents
        {
            let input = |piece: &OrderPiece| OrderInput {
                order: Arc::clone(&piece.order),
                groups: 0..piece.order.groups(),
                number: Box::new(Some),
                value: Box::new(value),
            };
            let order = RunOrder::merge(kind, vec![input(before), input(last)], collation, interrupt)?;
            let merged = OrderPiece { documents: before.documents + last.documents, order: Arc::new(order) };
            orders.pieces.truncate(orders.pieces.len() - 2);
            orders.pieces.push(merged);
        }
        Ok(orders.pieces.iter().map(|piece| Arc::clone(&piece.order)).collect())
    }
}
