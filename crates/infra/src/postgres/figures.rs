//! How much there is of everything.

use async_trait::async_trait;
use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::{FigureRows, Figures, OUTBOX};

use super::{PostgresStore, refused};

#[async_trait]
impl FigureRows for PostgresStore {
    async fn figures(&self) -> Result<Figures, StoreError> {
        let (operators, approvals, messages, drifted): (i64, i64, i64, i64) = sqlx::query_as(
            "SELECT (SELECT count(*) FROM operators),
                 (SELECT count(*) FROM approvals WHERE status = 'Pending'),
                 (SELECT count(*) FROM work WHERE kind = $1),
                 (SELECT count(*) FROM installations WHERE drift IS NOT NULL)",
        )
        .bind(OUTBOX)
        .fetch_one(&self.pool)
        .await
        .map_err(refused)?;
        let clusters = self.words("SELECT health_status, count(*) FROM clusters GROUP BY 1").await?;
        let operator_health = self.words("SELECT verdict, count(*) FROM operator_health GROUP BY 1").await?;
        Ok(Figures {
            operators: operators.unsigned_abs(),
            clusters,
            operator_health,
            drifted: drifted.unsigned_abs(),
            approvals_pending: approvals.unsigned_abs(),
            messages_waiting: messages.unsigned_abs(),
        })
    }
}

impl PostgresStore {
    /// Words and how often each is there.
    async fn words<T: std::str::FromStr>(&self, query: &'static str) -> Result<Vec<(T, u64)>, StoreError> {
        let rows: Vec<(String, i64)> = sqlx::query_as(query).fetch_all(&self.pool).await.map_err(refused)?;
        let counted = |(word, number): (String, i64)| {
            let known = word.parse().map_err(|_| StoreError::Other(format!("{word:?} is not known").into()));
            known.map(|word| (word, number.unsigned_abs()))
        };
        rows.into_iter().map(counted).collect()
    }
}
