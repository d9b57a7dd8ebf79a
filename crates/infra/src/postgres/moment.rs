//! Moments as PostgreSQL keeps them: `timestamptz`, to the microsecond.

use jiff::{Timestamp, Unit};
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArgumentBuffer, PgHasArrayType, PgTypeInfo, PgValueFormat, PgValueRef};
use sqlx::{Decode, Encode, Postgres, Type};

/// Microseconds from 1970 to 2000, where PostgreSQL counts from.
const EPOCH: i64 = 946_684_800_000_000;

/// A moment in a query: `.bind(Moment(at))`, and `row.try_get::<Moment, _>("at")?.0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub Timestamp);

impl Moment {
    /// As it will be when it is read again: rounded to the microsecond.
    pub fn kept(at: Timestamp) -> Timestamp {
        at.round(Unit::Microsecond).unwrap_or(at)
    }
}

impl From<Timestamp> for Moment {
    fn from(at: Timestamp) -> Self {
        Self(at)
    }
}

impl From<Moment> for Timestamp {
    fn from(moment: Moment) -> Self {
        moment.0
    }
}

impl Type<Postgres> for Moment {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_name("TIMESTAMPTZ")
    }
}

impl PgHasArrayType for Moment {
    fn array_type_info() -> PgTypeInfo {
        PgTypeInfo::array_of("TIMESTAMPTZ")
    }
}

impl Encode<'_, Postgres> for Moment {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        let micros = Self::kept(self.0).as_microsecond() - EPOCH;
        Encode::<Postgres>::encode(micros, buffer)
    }
}

impl Decode<'_, Postgres> for Moment {
    fn decode(value: PgValueRef<'_>) -> Result<Self, BoxDynError> {
        match value.format() {
            PgValueFormat::Binary => {
                let micros = i64::from_be_bytes(value.as_bytes()?.try_into()?);
                let since = micros.checked_add(EPOCH).ok_or("the moment is out of range")?;
                Ok(Self(Timestamp::from_microsecond(since)?))
            }
            PgValueFormat::Text => Ok(Self(value.as_str()?.parse()?)),
        }
    }
}
