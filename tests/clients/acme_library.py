"""The Python library `acme`, which certbot is made of, driven against a running service.

The environment says where it is and who we are, as for every program in this folder; see libraries.rs.
"""

import datetime
import os
import sys
from pathlib import Path

import josepy
from acme import challenges, client, crypto_util, errors, messages
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

ANSWERS = Path(os.environ["CHANCERY_ANSWERS"])
OUT = Path(os.environ["CHANCERY_OUT"])


def main():
    key = josepy.JWKEC(key=ec.generate_private_key(ec.SECP256R1()))
    network = client.ClientNetwork(key, alg=josepy.ES256, verify_ssl=os.environ["CHANCERY_CA"])
    directory = client.ClientV2.get_directory(os.environ["CHANCERY_DIRECTORY"], network)
    acme = client.ClientV2(directory, network)
    assert acme.external_account_required()
    refused("externalAccountRequired", lambda: acme.new_account(messages.NewRegistration.from_data()))
    binding = messages.ExternalAccountBinding.from_data(
        key.public_key(), os.environ["CHANCERY_KID"], os.environ["CHANCERY_HMAC"], directory
    )
    account = acme.new_account(
        messages.NewRegistration.from_data(
            email="library@example.com", terms_of_service_agreed=True, external_account_binding=binding
        )
    )

    one = obtain(acme, key, "one", ["a.library.test"], challenges.HTTP01)
    obtain(acme, key, "hundred", [f"n{number}.library.test" for number in range(1, 101)], challenges.HTTP01)
    obtain(acme, key, "wild", ["*.w.library.test", "w.library.test"], challenges.DNS01)

    renew_at, ask_at = acme.renewal_time(one.encode())
    assert renew_at > datetime.datetime.now(datetime.timezone.utc), renew_at
    assert ask_at > datetime.datetime.now(), ask_at
    obtain(acme, key, "renewed", ["a.library.test"], None)

    one = x509.load_pem_x509_certificate(one.encode())
    acme.revoke(one, 4)
    refused("alreadyRevoked", lambda: acme.revoke(one, 4))

    account = acme.update_registration(account, account.body.update(contact=("mailto:other@example.com",)))
    assert acme.query_registration(account).body.contact == ("mailto:other@example.com",)
    assert acme.deactivate_registration(account).body.status == "deactivated"
    refused("unauthorized", lambda: acme.new_order(request(["a.library.test"])))


def obtain(acme, key, file, names, kind):
    """A certificate by one kind of challenge; none where the names are known already."""
    order = acme.new_order(request(names))
    left = set()
    for authorization in order.authorizations:
        if authorization.body.status == messages.STATUS_VALID:
            continue
        [challenge] = [one for one in authorization.body.challenges if isinstance(one.chall, kind)]
        response, answer = challenge.response_and_validation(key)
        if kind is challenges.HTTP01:
            path = ANSWERS / "web" / Path(challenge.chall.path).name
            path.write_text(answer)
        else:
            path = ANSWERS / "txt" / challenge.chall.validation_domain_name(authorization.body.identifier.value)
            with path.open("a") as records:
                records.write(answer + "\n")
        left.add(path)
        acme.answer_challenge(challenge, response)
    chain = acme.poll_and_finalize(order, datetime.datetime.now() + datetime.timedelta(minutes=1)).fullchain_pem
    (OUT / f"{file}.pem").write_text(chain)
    for path in left:
        path.unlink()
    return chain


def request(names):
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return crypto_util.make_csr(pem, names)


def refused(kind, action):
    try:
        action()
    except messages.Error as error:
        assert error.code == kind, error
    except errors.ClientError as error:
        assert kind in str(error), error
    else:
        sys.exit(f"this should have been refused: {kind}")


if __name__ == "__main__":
    main()
