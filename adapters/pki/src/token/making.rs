//! Keys are made in a token, and taken away.

use cryptoki::{
    error::Error,
    mechanism::Mechanism,
    object::{Attribute, AttributeType, ObjectClass, ObjectHandle},
    session::Session,
};
use der::Encode;

use super::{
    encoding::{Shape, public_key},
    key::KeyReference,
    login::Login,
};
use crate::{error::KeyError, public_key::KeyAlgorithm};

/// A new key: by which it is found, and its public half, a SubjectPublicKeyInfo in DER.
pub(super) fn make(
    login: &Login,
    algorithm: KeyAlgorithm,
    name: &str,
    id: &[u8],
) -> Result<(KeyReference, Vec<u8>), KeyError> {
    let session = login.enter_to_change()?;
    let (public, private) = pair(&session, algorithm, name, id).map_err(|error| login.trouble(&error))?;
    let known = || {
        let reference = id_of(&session, private).map_err(|error| login.trouble(&error))?;
        Ok((reference, public_key(&session, public, algorithm)?))
    };
    known().inspect_err(|_| {
        // Nobody would ever find it again.
        let _ = (session.destroy_object(private), session.destroy_object(public));
    })
}

/// Takes away the pair with this id and name, and nothing else: some tokens cut ids, and have other things under them.
pub(super) fn destroy(login: &Login, key: &KeyReference, name: &str) -> Result<(), KeyError> {
    let session = login.enter_to_change()?;
    let destroy = |class| {
        let wanted = [Attribute::Class(class), Attribute::Id(key.id().to_vec()), Attribute::Label(name.into())];
        for object in session.find_objects(&wanted)? {
            if id_of(&session, object)? == *key {
                session.destroy_object(object)?;
            }
        }
        Ok(())
    };
    let gone = destroy(ObjectClass::PRIVATE_KEY).and_then(|()| destroy(ObjectClass::PUBLIC_KEY));
    gone.map_err(|error: Error| login.trouble(&error))
}

/// What the token has made of the id that it was given.
fn id_of(session: &Session, object: ObjectHandle) -> Result<KeyReference, Error> {
    let told =
        session.get_attributes(object, &[AttributeType::Id])?.into_iter().find_map(|attribute| match attribute {
            Attribute::Id(id) if !id.is_empty() => Some(id),
            _ => None,
        });
    told.map(KeyReference::new).ok_or(Error::InvalidValue)
}

fn pair(
    session: &Session,
    algorithm: KeyAlgorithm,
    name: &str,
    id: &[u8],
) -> Result<(ObjectHandle, ObjectHandle), Error> {
    let named = [Attribute::Token(true), Attribute::Label(name.into()), Attribute::Id(id.to_vec())];
    let mut public = named.to_vec();
    public.extend([
        Attribute::Private(false),
        Attribute::Verify(true),
        Attribute::Encrypt(false),
        Attribute::Wrap(false),
    ]);
    let mechanism = match Shape::of(algorithm) {
        Shape::Curve(curve) => {
            public.push(Attribute::EcParams(curve.to_der().map_err(|_| Error::InvalidValue)?));
            Mechanism::EccKeyPairGen
        }
        Shape::Bits(bits) => {
            public.extend([Attribute::ModulusBits(bits.into()), Attribute::PublicExponent(vec![1, 0, 1])]);
            Mechanism::RsaPkcsKeyPairGen
        }
    };
    let mut private = named.to_vec();
    private.extend([
        Attribute::Private(true),
        Attribute::Sensitive(true),
        Attribute::Extractable(false),
        Attribute::Sign(true),
        Attribute::Decrypt(false),
        Attribute::Unwrap(false),
        Attribute::Derive(false),
    ]);
    session.generate_key_pair(&mechanism, &public, &private)
}
