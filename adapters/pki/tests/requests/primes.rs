//! Primes to make RSA keys of, good ones and flawed ones, in hexadecimal. They were drawn for these tests and are
//! in no use elsewhere.

/// 1024 bits, drawn at random.
pub(crate) const PRIME: &str = concat!(
    "f51757a2c8f15b50e3adcd6585e56384b86a63d62f6148a05a62766c81340ebf40c46016bb728f29a3a732eee57cc27f915e",
    "814ca825ad6a2b96e38401e90a97f5b0ec0a1d05f247837a3f03c697e91157c70d2467effc838c4f22dcad2e9911dc5995e9",
    "a7c405cba6cef39e4955f1a6ba89eec424949f69657efd2e5847b6d7",
);

/// 1024 bits, drawn at random.
pub(crate) const OTHER: &str = concat!(
    "cd5170b81a021ac44202e27d62944f780ace33c1e216a658a8ecba26d213c978da4c8bc72322a16623b9eef95a0cfc4e01ba",
    "48a5c912d849697bd224f8eb7fe53d8bfa424922010613268910acb3d542966ec5e16246be3627ffcaa096b65b707d0acb90",
    "ccda5dbbe819dd5d650a0f0f520f333714365f47b29dc3da34aab205",
);

/// The next prime after [`PRIME`].
pub(crate) const NEXT: &str = concat!(
    "f51757a2c8f15b50e3adcd6585e56384b86a63d62f6148a05a62766c81340ebf40c46016bb728f29a3a732eee57cc27f915e",
    "814ca825ad6a2b96e38401e90a97f5b0ec0a1d05f247837a3f03c697e91157c70d2467effc838c4f22dcad2e9911dc5995e9",
    "a7c405cba6cef39e4955f1a6ba89eec424949f69657efd2e5847c119",
);

/// 1032 bits, drawn at random.
pub(crate) const WIDE: &str = concat!(
    "df036b49ce4b59ce87a8a8b3a7d8e11d1a29a2c025aa305d61be982eb218017baad6432ae5a9b0bec0cded1a534648bffd90",
    "a1a1a4d0714e96ee59659a45e0ea213f17bc12f2fdb113eb87234cd465f4e4c69260b626dec2ca704803ce49886150b71e8c",
    "f649e24369ea19a3c00006b5abfd695419de026484e8b339c41d292bed",
);

/// 2032 bits, drawn at random: 65521 times this has 2048 bits.
pub(crate) const LONG: &str = concat!(
    "e13de46e31bd222135bea93d2a86e92ce7316cc436ea8200aba4a8caf64d3dd828f46248cdc484f3830dac15d1c38463725d",
    "53464870e7d9b0d1551745780cf319c3d082cd7a95bc97ccbba69b645bc53db3480a8210c85516725f59dc9bcc69acf96321",
    "97911fd8ce8f5e8bbbd532a53346468e03e302d1675aaeb979d185ed9633d3144f7f2b413cbde2b00385fd1327bac43c309e",
    "aeea7233ecddaea4fdec7417074b747e25a22d9cb25f16c52f69fa319bea758cdf058a1b35b57f020c3068f87fee3de31b60",
    "1454c21ad8fc637afe9ed8e3170f07c39f7acd23a0e8f4b6cd42f92336b29b1525476b0d41920c639b941c73c54b57ca2d11",
    "eb3bdbe1",
);

/// 1024 bits, `k·M + (65537^a mod M)` with `M` the product of the first 126 primes: what the flawed chips draw.
pub(crate) const ROCA_P: &str = concat!(
    "cbdc3ba1177f46f27f6a62dfaf79c6f6433f8305681c16109e467c88c1ef26da637646eb21a93d5a4f91eb7c1639e0148ba4",
    "4284e7eeb4e205e6aa065c847285cd21b1a53b00aba73f0a4a0c35ea8455fa18aab65ac1eff3856f995cca40163e3555581b",
    "914124216aee66cc30c5f95132e776764f02b8cd1c2d8d5433ae7009",
);

/// 1024 bits, of the same form as [`ROCA_P`].
pub(crate) const ROCA_Q: &str = concat!(
    "dde9a624af6bb167ec45707244a278cc2c662eba3cd6907093e2cd83b5f050aa18d9fb0c30b2889c60eabcd9e50f7ba39b82",
    "bde9a96ed1c2eb7a67c397fb233e5d6e868b43fd53b61079c64378cf02801b2940fcbc5a3670081656c22b9850479d95e4e4",
    "2be56c44f6bfca9cebe80072c93b9616460cd70a2c2203063fcbd6b1",
);
