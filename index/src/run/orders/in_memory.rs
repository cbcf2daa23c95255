//! The orders of a memory run. They are made on first use, and later updated by sorting the documents appended since.
//! It does not know how documents are stored.

use std::sync::Arc;

use parking_lot::Mutex;

use super::merge::OrderInput;
use super::order::{KeyKind, RunOrder};
use crate::collate::Collation;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::schema::ColumnId;
use crate::value::ValueRef;

/// The orders of a memory run that were used.
#[derive(Debug, Default)]
pub(crate) struct MemoryOrders {
    columns: Mutex<Vec<ColumnOrders>>,
}

/// The orders of a column, in pieces. Each piece covers the documents after those of the previous one.
#[derive(Debug)]
struct ColumnOrders {
    column: ColumnId,
    kind: KeyKind,
    collation: String,
    /// The number of documents they cover.
    covered: u32,
    /// The pieces. Each covers more than twice the documents of the next one, so there are few.
    pieces: Vec<OrderPiece>,
}

#[derive(Debug, Clone)]
struct OrderPiece {
    documents: u32,
    order: Arc<RunOrder>,
}

impl MemoryOrders {
    /// Returns orders of a column that together hold all documents below `documents`, and perhaps later ones.
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
            // Orders by another collation are not used any more.
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
