-- Something that only the right keys open: a server with others would seal what nobody else can read.
CREATE TABLE keyring_proof (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    sealed bytea NOT NULL
);
