-- Which of its further chains a CA's certificates come with where nobody asks for another; none is that of its own certificate.
ALTER TABLE issuers ADD COLUMN preferred_chain BIGINT;
