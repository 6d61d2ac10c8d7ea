-- Two users never share an address.
CREATE UNIQUE INDEX user_email ON user (email) WHERE email IS NOT NULL;
