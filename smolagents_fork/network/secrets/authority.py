"""Certificates of the proxy for the secrets' hosts, from an authority that one executor trusts."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
import tempfile
from collections.abc import Iterable

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ..hosts.host_names import parse_address
from ..hosts.host_policy import AllowedHost

__all__ = ["ALPN", "Authority"]

_VALID = datetime.timedelta(days=3650)
# Clocks of containers and their hosts are one; those of virtual machines may differ.
_TOLERANCE = datetime.timedelta(days=1)
_ALL_NAMES: tuple[x509.GeneralName, ...] = (
    x509.DNSName(""),
    *(x509.IPAddress(ipaddress.ip_network(block)) for block in ("0.0.0.0/0", "::/0")),
)
# Hosts of wildcard entries for which a certificate is kept.
_MOST_CONTEXTS = 64
#: Protocols that are spoken within TLS.
ALPN = ["http/1.1"]


class Authority:
    """A certificate authority that is valid for some hosts only; its key stays in this process.

    Args:
        hosts: Hosts that it may have certificates for.
    """

    def __init__(self, hosts: Iterable[AllowedHost]) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._host_key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name(
            [x509.NameAttribute(NameOID.COMMON_NAME, "proxy of this sandbox's secrets")]
        )
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._certificate = (
            _builder(self._name, self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_key_usage(signs_certificates=True), critical=True)
            .add_extension(_constraints(hosts), critical=True)
            .add_extension(self._key_identifier, critical=False)
            .sign(self._key, hashes.SHA256())
        )

    @property
    def certificate(self) -> str:
        """Certificate of the authority, in PEM."""
        return self._certificate.public_bytes(serialization.Encoding.PEM).decode("ascii")

    def server_context(self, host: str) -> ssl.SSLContext:
        """Return the settings of a server with a certificate for a host.

        Args:
            host: Host in its one spelling.
        """
        context = self._contexts.get(host)
        if context is None:
            if len(self._contexts) >= _MOST_CONTEXTS:
                self._contexts.clear()
            self._contexts[host] = context = self._make_context(host)
        return context

    def _make_context(self, host: str) -> ssl.SSLContext:
        address = parse_address(host)
        name = x509.DNSName(host) if address is None else x509.IPAddress(address)
        certificate = (
            _builder(x509.Name([]), self._name, self._host_key.public_key())
            # Critical, because the subject is empty (RFC 5280 section 4.2.1.6).
            .add_extension(x509.SubjectAlternativeName([name]), critical=True)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(
                    self._key_identifier
                ),
                critical=False,
            )
            .sign(self._key, hashes.SHA256())
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(ALPN)
        context.options |= ssl.OP_NO_RENEGOTIATION
        # Python's ssl takes a key from a file only; this one is this user's alone, for a moment.
        with tempfile.NamedTemporaryFile() as file:
            file.write(
                self._host_key.private_bytes(
                    serialization.Encoding.PEM,
                    serialization.PrivateFormat.PKCS8,
                    serialization.NoEncryption(),
                )
            )
            file.write(certificate.public_bytes(serialization.Encoding.PEM))
            file.flush()
            context.load_cert_chain(file.name)
        return context

    @property
    def _key_identifier(self) -> x509.SubjectKeyIdentifier:
        return x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _TOLERANCE)
        .not_valid_after(now + _VALID)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _constraints(hosts: Iterable[AllowedHost]) -> x509.NameConstraints:
    """Return the names that the authority may certify: those of the hosts, and names below them."""
    permitted: list[x509.GeneralName] = [
        x509.DNSName(entry.name)
        if entry.address is None
        else x509.IPAddress(ipaddress.ip_network(entry.address))
        for entry in hosts
    ]
    # A form of names that no permitted one has would not be constrained at all.
    excluded = [name for name in _ALL_NAMES if type(name) not in map(type, permitted)]
    return x509.NameConstraints(permitted, excluded or None)
