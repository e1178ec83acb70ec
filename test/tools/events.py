"""events.py FOLDER LOG: reads an event file of TensorBoard, checks its checksums, and compares it with run.jsonl."""

import glob
import json
import math
import struct
import sys


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def masked(data):
    value = crc32c(data)
    return ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    while data:
        length, check = struct.unpack_from("<QI", data)
        assert check == masked(data[:8]), "checksum of a length"
        record, (check,) = data[12:12 + length], struct.unpack_from("<I", data, 12 + length)
        assert check == masked(record), "checksum of a record"
        yield record
        data = data[16 + length:]


def varint(data):
    value = shift = 0
    while True:
        byte, data = data[0], data[1:]
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, data


def fields(data):
    """Pairs of a number and a value of a message."""
    while data:
        key, data = varint(data)
        if key & 7 == 0:
            value, data = varint(data)
        elif key & 7 == 2:
            length, data = varint(data)
            value, data = data[:length], data[length:]
        else:
            code, size = {1: ("<d", 8), 5: ("<f", 4)}[key & 7]
            (value,), data = struct.unpack_from(code, data), data[size:]
        yield key >> 3, value


def main():
    (path,) = glob.glob(sys.argv[1] + "/events.out.tfevents.*")
    assert crc32c(b"123456789") == 0xE3069283
    events = [list(fields(record)) for record in records(open(path, "rb").read())]
    assert dict(events[0])[3] == b"brain.Event:2"
    times = [dict(event)[1] for event in events]
    assert times == sorted(times) and times[0] > 1.7e9
    steps = 0
    for event, line in zip(events[1:], open(sys.argv[2])):
        expected = json.loads(line)
        event = dict(event)
        values = {}
        for _, value in fields(event[5]):
            value = dict(fields(value))
            values[value[1].decode()] = value[2]
        assert event[2] == expected["step"], (event, expected)
        names = {"loss", "grad_norm", "lr", "step_ms", "tokens_per_s"} | ({"eval_loss"} & expected.keys())
        assert values.keys() == names, values
        for name in names:
            # The log has nine digits, the event a float.
            assert math.isclose(values[name], expected[name], rel_tol=2e-7), (name, values, expected)
        steps += 1
    print(f"{steps} steps as in the log")


if __name__ == "__main__":
    main()
