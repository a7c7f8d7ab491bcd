"""A DNS server on loopback for validation tests: every name has the A record 127.0.0.1."""

import socket
import struct
import sys


def answer(query: bytes) -> bytes:
    end = 12
    while query[end]:
        end += 1 + query[end]
    end += 5
    kind = struct.unpack(">H", query[end - 4 : end - 2])[0]
    records = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, 4) + bytes([127, 0, 0, 1]) if kind == 1 else b""
    head = query[:2] + struct.pack(">HHHHH", 0x8180, 1, 1 if records else 0, 0, 0)
    return head + query[12:end] + records


server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", int(sys.argv[1])))
while True:
    message, peer = server.recvfrom(4096)
    server.sendto(answer(message), peer)
