//! A controller: what it watches, how it is asked, and what becomes of its answer.
