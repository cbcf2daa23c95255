//! Cuts a row into its cells, line by line. Must not know encodings: delimiters and quotes are ASCII in all of them.

/// A splitter of rows, one after another.
pub(crate) struct Splitter {
    delimiter: u8,
    max_cells: usize,
    cells: Vec<Vec<u8>>,
    cell: Vec<u8>,
    state: State,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Before the first byte of a cell.
    Start,
    /// The reader is in an unquoted cell.
    Plain,
    /// Between quotes.
    Quoted,
    /// After a quote that closes the cell, or is the first of a pair.
    Quote,
    /// After spaces that follow the closing quote.
    Closed,
}

impl Splitter {
    pub(crate) fn new(delimiter: u8, max_cells: usize) -> Splitter {
        Splitter { delimiter, max_cells, cells: Vec::new(), cell: Vec::new(), state: State::Start }
    }

    /// Adds a line with its end. Returns whether the row ends with it.
    ///
    /// # Errors
    /// If something other than a delimiter follows a closing quote.
    pub(crate) fn feed(&mut self, line: &[u8]) -> Result<bool, ()> {
        for &byte in line {
            let is_end = matches!(byte, b'\r' | b'\n');
            match self.state {
                State::Start if byte == b'"' => self.state = State::Quoted,
                State::Quoted if byte == b'"' => self.state = State::Quote,
                State::Quoted => self.cell.push(byte),
                State::Quote if byte == b'"' => {
                    self.cell.push(byte);
                    self.state = State::Quoted;
                }
                _ if byte == self.delimiter => self.end_cell(),
                _ if is_end => {}
                State::Start | State::Plain => {
                    self.cell.push(byte);
                    self.state = State::Plain;
                }
                State::Quote | State::Closed if byte == b' ' => self.state = State::Closed,
                State::Quote | State::Closed => return Err(()),
            }
        }
        if self.state == State::Quoted {
            return Ok(false);
        }
        self.end_cell();
        Ok(true)
    }

    /// Is true if the row has too many cells.
    pub(crate) fn is_too_wide(&self) -> bool {
        self.cells.len() > self.max_cells
    }

    /// Returns the cells of the row. The next line begins a new one.
    pub(crate) fn take(&mut self) -> Vec<Vec<u8>> {
        self.cell.clear();
        self.state = State::Start;
        std::mem::take(&mut self.cells)
    }

    fn end_cell(&mut self) {
        let cell = std::mem::take(&mut self.cell);
        if !self.is_too_wide() {
            self.cells.push(cell);
        }
        self.state = State::Start;
    }
}
