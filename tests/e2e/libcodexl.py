# SPDX-License-Identifier: Apache-2.0
"""The grammar of CodeXL's text files, for tests: timelines (.atp), and tables (.csv, .occupancy)."""
import re


def decoded(text):
    return text.replace("&nbsp;", " ").replace("&comma;", ",")


class Atp:
    """A parsed timeline: the header, and the sections by title, with the lines of each thread in order."""
    def __init__(self, text):
        lines = text.splitlines()
        at = next((n for n, line in enumerate(lines) if line.startswith("=")), len(lines))
        self.header = dict(line.split("=", 1) for line in lines[:at])
        self.sections = {}
        while at < len(lines):
            title = re.fullmatch(r"=====(.+)=====", lines[at]).group(1)
            at, threads = at + 1, []
            if title.endswith("Kernel Timestamp Output"):
                count = int(lines[at])
                threads.append((None, lines[at + 1:at + 1 + count]))
                at += 1 + count
            while at < len(lines) and not lines[at].startswith("="):
                tid, count = int(lines[at]), int(lines[at + 1])
                threads.append((tid, lines[at + 2:at + 2 + count]))
                at += 2 + count
            if title in self.sections or any(not line for _, each in threads for line in each):
                raise ValueError(f"{title}: twice, or with empty lines")
            self.sections[title] = threads

    def calls(self, kind):
        """Return (tid, id, name, result, arguments, start, end, further columns) of each call."""
        found = []
        for (tid, calls), (again, times) in zip(self.sections.get(kind + " API Trace Output", []), self.sections.get(kind + " Timestamp Output", [])):
            if tid != again or len(calls) != len(times):
                raise ValueError("calls and their times differ")
            for call, time in zip(calls, times):
                pattern = r"(?:(.*?) = )?(\S+) \( (.*) \)" if kind == "hsa" else r"(.*?) = (\S+) \( ([^)]*) \)"
                result, name, arguments = re.match(pattern, call).groups()
                columns = time.split()
                if columns[1] != name:
                    raise ValueError(f"{call} is not {time}")
                found.append((tid, int(columns[0]), name, result, arguments.strip(), int(columns[2]), int(columns[3]), columns[4:]))
        return found

    def kernels(self):
        found = []
        for _, lines in self.sections.get("hsa Kernel Timestamp Output", []):
            for line in lines:
                name, handle, start, end, agent, agent_handle, queue, queue_handle, packet, number, sizes = line.split(None, 10)
                if packet == "HSA_PACKET_TYPE_KERNEL_DISPATCH":
                    found.append((decoded(name), int(handle, 16), int(start), int(end), agent, int(agent_handle, 16), int(queue), queue_handle, int(number), sizes))
        return found

    def stacks(self, kind):
        return [(tid, *line.split("\t")) for tid, lines in self.sections.get(kind + " Stack Trace Output", []) for line in lines]

    def markers(self):
        """Return (tid, time, is it a begin, name, group) of each perf marker."""
        found = []
        for tid, lines in self.sections.get("Perfmarker Output", []):
            for line in lines:
                words = line.split()
                begin = words[0] == "clBeginPerfMarker"
                found.append((tid, int(words[2 if begin else 1]), begin, decoded(words[1]) if begin else "", decoded(words[3]) if begin else ""))
        return found


class Table:
    """A parsed .csv or .occupancy file: header, columns, rows."""
    def __init__(self, text):
        lines = text.splitlines()
        self.header = dict(line.lstrip("#").split("=", 1) for line in lines if line.startswith("#"))
        rows = [[cell.strip(" ") for cell in line.split(self.header.get(" ListSeparator", self.header.get("ListSeparator", ",")))]
                for line in lines if line and not line.startswith("#")]
        self.columns, self.rows = rows[0], rows[1:]
        if any(len(row) > len(self.columns) for row in self.rows) or any(len(line) > 2047 for line in lines):
            raise ValueError("a row is longer than AMD's reader takes")

    def dictionaries(self):
        return [dict(zip(self.columns, row)) for row in self.rows]
