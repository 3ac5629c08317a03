# SPDX-License-Identifier: Apache-2.0
"""Change the structure of reports of Nsight Compute: the values, kinds, order and number of metrics, sections, rules and results.

Each mutation is a function of a report and a seeded random.Random, so a seed always gives the same report. The results remain valid messages: the purpose is
to find what readers decide differently, not what they reject (tests/fuzz does that)."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
from libncu import pieces  # noqa: E402
from libwire import entry, put_bytes, put_number, put_real, put_single  # noqa: E402

METRIC, SOURCE, SECTION, RULE = 13, 15, 17, 19  # fields of ProfileResult
DEVICE = b"device__"  # metrics that describe the device; readers derive the names and units of all others from them


class Report:
    """A report as a list of blocks: [header, sources, results], each message as the bytes in the file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        _, at = entry(data, 4)
        self.head, self.blocks = data[:at], []
        while at < len(data):
            header, at = entry(data, at)
            counts = {number: of for number, of, _ in pieces(header) if isinstance(of, int)}
            behind = at + counts.get(5, 0)
            entries = []
            while at < behind:
                of, at = entry(data, at)
                entries.append(of)
            sources = counts.get(1, 0)
            self.blocks.append([header, entries[:sources], entries[sources:]])

    def names(self):
        """Return the names of metrics; the index is a NameId."""
        tables = [of for header, _, _ in self.blocks for number, of, _ in pieces(header) if number == 4]
        return [of for table in tables for number, of, _ in pieces(table) if number == 1]

    def rename(self, name_of):
        """Replace each name in the tables of strings by name_of(name)."""
        for block in self.blocks:
            block[0] = b"".join(put_bytes(4, b"".join(put_bytes(1, name_of(of)) for _, of, _ in pieces(of_))) if number == 4 else piece
                                for number, of_, piece in pieces(block[0]))

    def write(self, path):
        with open(path, "wb") as file:
            file.write(self.head)
            for header, sources, results in self.blocks:
                payload = b"".join(struct.pack("<I", len(of)) + of for of in [*sources, *results])
                kept = b"".join(piece for number, _, piece in pieces(header) if number not in (1, 2, 5))
                header = put_number(1, len(sources)) + put_number(2, len(results)) + kept + put_number(5, len(payload))
                file.write(struct.pack("<I", len(header)) + header + payload)

    def each_result(self, change):
        for block in self.blocks:
            block[2] = [change(of) for of in block[2]]

    def each_metric(self, change):
        """Replace each metric by change(name, fields of the metric, its bytes), but not those that describe the device."""
        names = self.names()

        def result(message):
            out = []
            for number, of, piece in pieces(message):
                fields = list(pieces(of)) if number == METRIC else []
                name = next((names[value_] for field, value_, _ in fields if field == 1), b"device__")
                out.append(piece if name.startswith(DEVICE) else change(name, fields, piece))
            return b"".join(out)
        self.each_result(result)


def number_of(message):
    """Return (kind, number) of a ProfileMetricValue; None if it is a text. The kind is the number of its field."""
    for field, of, _ in pieces(message):
        if field == 3:
            return field, struct.unpack("<d", of)[0]
        if field == 2:
            return field, struct.unpack("<f", of)[0]
        if field in (4, 5):
            return field, of
    return None


def encoded(kind, number):
    if kind == 3:
        return put_real(3, float(number))
    if kind == 2:
        return put_single(2, max(-3e38, min(3e38, float(number))))
    return put_number(kind, int(number) & ((1 << 64) - 1 if kind == 5 else (1 << 32) - 1))


def with_value(fields, change):
    """Return a metric whose value is change(kind, number), which is (kind, number) again. Texts and instances stay."""
    out = b""
    for field, of, piece in fields:
        found = number_of(of) if field == 2 else None
        out += put_bytes(2, encoded(*change(*found))) if found else piece
    return put_bytes(METRIC, out)


def doubled(report, chance, behind=True):
    """Repeat some metrics beside themselves, with another number."""
    late = []

    def metric(_, fields, piece):
        if chance.random() < 0.7:
            return piece
        other = with_value(fields, lambda kind, number: (kind, number * 3 + 1))
        late.append(other)
        return piece + other if behind else other + piece
    report.each_metric(metric)


def doubled_late(report, chance):
    """Repeat some metrics after all others."""
    names = report.names()

    def result(message):
        metrics = [list(pieces(of)) for number_, of, _ in pieces(message) if number_ == METRIC]
        late = [fields for fields in metrics if chance.random() < 0.2 and not any(field == 1 and names[of].startswith(DEVICE) for field, of, _ in fields)]
        return message + b"".join(with_value(fields, lambda kind, number: (kind, number + 7)) for fields in late)
    report.each_result(result)


def scaled(report, chance):
    """Scale numbers by powers of ten, so that pages choose other prefixes of units."""
    powers = [-12, -9, -6, -3, -2, 2, 3, 6, 9, 12]

    def metric(_, fields, piece):
        by = 10.0 ** chance.choice(powers)
        return with_value(fields, lambda kind, number: (kind, min(number * by, 1e15))) if chance.random() < 0.6 else piece
    report.each_metric(metric)


def odd(report, chance):
    """Replace values by unusual numbers: not finite, negative, zero, tiny, just below a round number."""
    odds = [float("nan"), float("inf"), -float("inf"), -1.5, -0.0, 0.0, 1e-300, 0.004999, 999.995, 999999.5, 1e9, 1e3]

    def metric(_, fields, piece):
        return with_value(fields, lambda kind, number: (kind, chance.choice(odds) if kind in (2, 3) else number)) if chance.random() < 0.3 else piece
    report.each_metric(metric)


def kinds(report, chance):
    """Change the kinds of some values; not of metrics with instances, whose values must all have one kind."""
    def metric(_, fields, piece):
        if any(field == 3 for field, _, _ in fields) or chance.random() > 0.4:
            return piece
        return with_value(fields, lambda _, number: (chance.choice((2, 3, 4, 5)), min(abs(number), 4e9)))
    report.each_metric(metric)


def fewer(report, chance):
    """Remove some metrics, and the values of others."""
    def metric(_, fields, piece):
        dice = chance.random()
        if dice < 0.15:
            return b""
        return put_bytes(METRIC, b"".join(of for field, _, of in fields if field != 2)) if dice < 0.25 else piece
    report.each_metric(metric)


def reordered(report, chance):
    """Shuffle the launches and repeat some of them."""
    results = [of for block in report.blocks for of in block[2]]
    chance.shuffle(results)
    results += [chance.choice(results) for _ in range(3)]
    holding = [block for block in report.blocks if block[2]]
    for block in holding:
        block[2] = []
    for i, of in enumerate(results):
        holding[i % len(holding)][2].append(of)


def varied(report, chance):
    """Repeat each launch five times with numbers of different sizes: the unit of a column must fit them all."""
    for block in report.blocks:
        block[2] = [of for of in block[2] for _ in range(5)]
    scaled(report, chance)


def metrics_reordered(report, chance):
    """Shuffle the metrics, the sections and the rules."""
    def result(message):
        parts = list(pieces(message))
        for number in (METRIC, SECTION, RULE):
            at = [i for i, part in enumerate(parts) if part[0] == number]
            mixed = [parts[i] for i in at]
            chance.shuffle(mixed)
            for i, part in zip(at, mixed):
                parts[i] = part
        return b"".join(piece for _, _, piece in parts)
    report.each_result(result)


def rules_doubled(report, chance):
    """Repeat the messages of some rules; remove field 4 of others; remove others."""
    def rule(of, piece):
        dice = chance.random()
        if dice < 0.3:
            body = b"".join(put_bytes(3, inner + inner) if field == 3 else inner_piece for field, inner, inner_piece in pieces(of))
            return put_bytes(RULE, body)
        if dice < 0.5:
            return put_bytes(RULE, b"".join(p for field, _, p in pieces(of) if field != 4))
        return b"" if dice < 0.6 else piece

    def result(message):
        return b"".join(rule(of, piece) if number == RULE else piece for number, of, piece in pieces(message))
    report.each_result(result)


# Names that have another unit than their pattern suggests; renamed() gives them to metrics.
RARE = """
lts__average_gcomp_input_sector_success_rate.pct launch__occupancy_cluster_gpu_pct launch__occupancy_cluster_pct nvlrx__bytes.sum.per_second
nvltx__bytes.sum.per_second nvlrx__bytes.sum nvlrx__bytes_data_user.sum.per_second smsp__threads_launched.sum smsp__threads_launched.avg smsp__warps_launched.sum
pmsampling:sm__ctas_launched.sum pmsampling:sm__cycles_active.avg pmsampling:dram__read_throughput.avg.pct_of_peak_sustained_elapsed
pmsampling:smsp__warps_issue_stalled_barrier_not_issued.avg profiler__pmsampler_interval_time profiler__pmsampler_sampling_interval
profiler__pmsampler_buffer_size_bytes profiler__pmsampler_dropped_samples profiler__pmsampler_merged_samples profiler__pmsampler_pass_groups
profiler__replayer_passes profiler__replayer_bytes_mem_accessible.avg profiler__replayer_bytes_mem_backed_up.sum
derived__sm__sass_thread_inst_executed_op_hfma_pred_on_x4 derived__sm__sass_thread_inst_executed_op_hfma_pred_on_x2
derived__smsp__sass_thread_inst_executed_op_hfma_pred_on_x4 derived__pct_occupancy_per_barrier_count
derived__lts__lts2xbar_bytes.sum derived__lts__lts2xbar_bytes.sum.per_second derived__lts__lts2xbar_bytes.sum.pct_of_peak_sustained_elapsed
memory_l2_sectors_global memory_l2_sectors_local memory_l1_sectors_global memory_l2_theoretical_sectors_global memory_l1_wavefronts_shared
memory_l2_theoretical_sectors_global_ideal memory_l1_wavefronts_shared_ideal memory_access_size_type memory_access_type memory_type
sm__ops_path_tensor_src_fp16_dst_fp32.sum sm__ops_path_tensor_src_fp16_dst_fp32.sum.per_cycle_elapsed sm__ops_path_tensor_src_int8.sum.peak_sustained
sm__ops_path_tensor_src_fp64.avg.pct_of_peak_sustained_elapsed sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active
launch__cluster_dim_x launch__cluster_max_active launch__cluster_size launch__cluster_scheduling_policy launch__preferred_cluster_size
launch__occupancy_limit_barriers launch__barrier_count launch__stack_size launch__persisting_l2_cache_size launch__uses_blocks_as_clusters
launch__func_cache_config launch__context_id launch__stream_id launch__waves_per_multiprocessor launch__tpc_count launch__block_size launch__grid_size
launch__shared_mem_config_size launch__sub_launch_name launch__graph_contains_device_launch launch__occupancy_per_barrier_count
launch__occupancy_per_block_size launch__occupancy_per_register_count launch__occupancy_per_cluster_size launch__block_dim_x launch__grid_dim_x launch__sm_count
smsp__branch_targets_threads_divergent smsp__sass_branch_targets_threads_divergent.sum smsp__sass_branch_targets.sum smsp__sass_branch_targets_threads_uniform.avg
smsp__sass_average_branch_targets_threads_uniform.pct smsp__pcsamp_warps_issue_stalled_branch_resolving smsp__pcsamp_warps_issue_stalled_barrier
smsp__pcsamp_sample_buffer_full smsp__pcsamp_interval smsp__pcsamp_interval_cycles smsp__pcsamp_buffer_size_bytes smsp__pcsamp_dropped_bytes
smsp__pcsamp_sample_count smsp__pcsamp_warps_issue_stalled_selected_not_issued smsp__pcsamp_aggregated_passes
smsp__thread_inst_executed_per_inst_executed.ratio smsp__thread_inst_executed_per_inst_executed.pct smsp__average_warp_latency_issue_stalled_barrier.ratio
smsp__average_warp_latency_per_inst_issued.ratio smsp__average_warps_active_per_issue_active.ratio smsp__average_warps_issue_stalled_wait_per_issue_active.ratio
smsp__average_thread_inst_executed_pred_on_per_inst_executed_realtime.ratio smsp__average_inst_executed_per_warp.ratio smsp__issue_active.avg.per_cycle_active
smsp__issue_inst0.avg.pct_of_peak_sustained_active smsp__cycles_active.avg smsp__cycles_elapsed.max.per_second sm__cycles_active.avg.per_second
gpc__cycles_elapsed.avg.per_second dram__cycles_elapsed.avg.per_second lts__cycles_elapsed.avg.per_second l1tex__cycles_active.avg
gpu__time_duration.sum gpu__time_duration_measured_user.sum gpu__time_active.avg gpu__cycles_elapsed.max gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed
dram__bytes.sum dram__bytes.sum.per_second dram__bytes_read.sum.pct_of_peak_sustained_elapsed dram__sectors_read.sum dram__throughput.max.pct_of_peak_sustained_elapsed
dram__bytes.sum.peak_sustained dram__bytes_write.sum.per_cycle_elapsed fbpa__dram_read_bytes.sum fbpa__dram_sectors.sum fbpa__dram_write_sectors.sum
lts__t_sectors_op_read.sum lts__t_sectors.sum.per_second lts__t_sector_hit_rate.pct lts__t_requests_srcunit_tex.sum lts__t_bytes.sum.per_second lts__t_tag_requests.sum
lts__d_sectors_fill_device.sum lts__xbar2lts_cycles_active.avg lts__lts2xbar_cycles_active.avg lts__ltcfabric2lts_cycles_active.avg
lts__t_sectors_srcnode_ltcfabric.sum lts__t_requests_srcunit_ltcfabric.sum lts__t_sectors_srcunit_ltcfabric_evict_first_lookup_hit.sum
lts__t_sectors_evict_normal_lookup_miss.sum lts__gcomp_input_sectors.sum lts__average_t_sector.ratio lts__average_t_sectors_per_request_srcunit_tex.ratio
l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum l1tex__t_sector_hit_rate.pct l1tex__t_bytes.sum.per_second
l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum l1tex__data_pipe_lsu_wavefronts_mem_shared.sum l1tex__data_bank_reads.avg.pct_of_peak_sustained_elapsed
l1tex__m_xbar2l1tex_read_bytes.sum l1tex__m_xbar2l1tex_read_sectors_mem_lg_op_ld.sum l1tex__m_l1tex2xbar_req_cycles_active.avg l1tex__lsuin_requests.sum
l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio l1tex__average_t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct
l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ld.sum l1tex__t_set_accesses.sum l1tex__t_set_conflicts.sum l1tex__f_wavefronts.sum l1tex__texin_requests.sum
smsp__inst_executed.sum smsp__inst_executed_op_shared_ld.sum smsp__inst_executed_op_ldgsts_cache_bypass.sum smsp__sass_inst_executed_op_shared_ld.sum sm__inst_executed.avg.per_cycle_elapsed
sass__inst_executed_global_loads sass__inst_executed_per_opcode sass__inst_executed_shared_stores sass__inst_executed_per_opcode_with_modifier_all
sm__warps_active.avg.pct_of_peak_sustained_active sm__warps_active.avg.per_cycle_active sm__maximum_warps_per_active_cycle_pct sm__maximum_warps_avg_per_active_cycle
sm__ctas_launched.sum sm__ctas_active.avg sm__threads_launched.sum tpc__cycles_elapsed.max sys__cycles_elapsed.sum.per_second pcie__read_bytes.sum.per_second
pcie__write_bytes.sum pcie__throughput.avg.pct_of_peak_sustained_elapsed idc__requests.sum idc__request_hit_rate.pct mcc__cycles_elapsed.avg.per_second nvltx__throughput.avg.pct_of_peak_sustained_elapsed
smsp__sass_thread_inst_executed_op_ffma_pred_on.sum smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed
sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio
smsp__sass_average_data_bytes_per_wavefront_mem_shared.pct smsp__sass_l1tex_data_bank_conflicts_pipe_lsu.sum smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum
smsp__sass_l1tex_tags_mem_global.sum smsp__sass_l1tex_t_requests_pipe_lsu_mem_local.sum smsp__l1tex_tmem_ld_t_bytes.sum sm__memory_throughput.avg.pct_of_peak_sustained_elapsed
sm__sass_inst_executed_memdesc_explicit_hitprop_evict_first.sum sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active
smsp__warps_eligible.avg.per_cycle_active smsp__warps_issue_stalled_barrier.avg smsp__registers_allocated.sum sm__memory_throughput_internal_activity.pct
nvlink__bandwidth nvlink__count_logical nvlink__max_count nvlink__is_direct_link device__attribute_memory_clock_rate device__attribute_architecture numa__cpu_affinity
c2clink__present pmsampling:gpc__cycles_elapsed.max.per_second group:memory__chart inst_executed thread_inst_executed thread_inst_executed_true branch_inst_executed
""".split()


def renamed(report, chance):
    """Give some metrics a name of RARE, and so another unit."""
    names = {of.decode() for of in report.names()}
    count, free = len(names), sorted(set(RARE) - names)
    chance.shuffle(free)

    def name(of):
        if of.startswith(DEVICE) or not free or chance.random() > 1.2 * len(RARE) / max(count, 1) or b":" in of:
            return of
        return free.pop().encode()
    report.rename(name)


# ---- code ----

def elf_sections(elf):
    """Return {name: (offset in the file, size in bytes, index)} of the sections of a 64-bit ELF file."""
    offset, = struct.unpack_from("<Q", elf, 0x28)
    size, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, offset + i * size) for i in range(count)]
    at = headers[names][4]
    return {elf[at + h[0]:elf.index(b"\0", at + h[0])].decode(): (h[4], h[5], i) for i, h in enumerate(headers)}


def change_code(report, change):
    """Replace each cubin: change(elf, {symbol: address}) returns it and whether the report keeps the addresses of functions."""
    def source(message):
        parts = list(pieces(message))
        where = {}
        for number, of, _ in parts:
            for kind, symbol, _ in pieces(of) if number == 9 else ():
                found = {field: value for field, value, _ in pieces(symbol)}
                if kind == 1:
                    where[found.get(3)] = found[2]
        out = b""
        for number, of, piece in parts:
            if number == 4 and of[:4] == b"\x7fELF":
                elf, stays = change(bytearray(of), where)
                piece = put_bytes(4, bytes(elf))
                parts = [part for part in parts if stays or part[0] != 9]
        for number, of, piece in parts:
            out += put_bytes(4, bytes(change(bytearray(of), where)[0])) if number == 4 and of[:4] == b"\x7fELF" else piece
        return out
    for block in report.blocks:
        block[1] = [source(of) for of in block[1]]


def line_programs(elf, name):
    """Yield (begin, end, opcode base, line range) of each program of a line table of version 2 to 4."""
    if name not in elf_sections(elf):
        return
    at, size, _ = elf_sections(elf)[name]
    end = at + size
    while at + 10 < end:
        length, version, header = struct.unpack_from("<IHI", elf, at)
        fixed = at + 10 + (version == 4)
        yield at + 10 + header, at + 4 + length, elf[fixed + 4], elf[fixed + 3]
        at += 4 + length


def opcodes(elf, at, end, base):
    """Yield (offset, opcode, offset of its operands) of each step of a line program."""
    def skip(at):
        while elf[at] & 128:
            at += 1
        return at + 1
    while at < end:
        here, opcode = at, elf[at]
        at += 1
        yield here, opcode, at
        if opcode == 0:
            at += 1 + elf[at]
        elif opcode == 9:
            at += 2
        elif opcode in (2, 3, 4, 5, 12):
            at = skip(at)
        elif opcode < base and opcode not in (1, 6, 7, 8, 10, 11):
            at = skip(at)


def lines_doubled(report, chance):
    """Change line tables so that several rows have the same address."""
    def change(elf, _):
        for table in (".debug_line", ".nv_debug_line_sass"):
            for begin, end, base, width in line_programs(elf, table):
                for at, opcode, _ in opcodes(elf, begin, end, base):
                    if opcode >= base and chance.random() < 0.3:
                        elf[at] = base + (opcode - base) % width
        return elf, True
    state = chance.getstate()

    def same_each_time(elf, where):
        chance.setstate(state)
        return change(elf, where)
    change_code(report, same_each_time)


def absolute_lines(report, _):
    """Change cubins to those of reports up to 2022.1: symbols and line tables have addresses of the running program, and nothing else says where functions were."""
    def change(elf, where):
        at, size, _ = elf_sections(elf)[".symtab"]
        for i in range(size // 24):
            if i in where:
                struct.pack_into("<Q", elf, at + 24 * i + 8, where[i])
        for table in (".debug_line", ".nv_debug_line_sass"):
            relocations = elf_sections(elf).get(".rel" + table)
            section = elf_sections(elf).get(table)
            for k in range(relocations[1] // 16) if relocations else ():
                place, info = struct.unpack_from("<QQ", elf, relocations[0] + 16 * k)
                struct.pack_into("<Q", elf, section[0] + place, where.get(info >> 32, 0))
        return elf, False
    change_code(report, change)


MUTATIONS = {f.__name__: f for f in (doubled, doubled_late, scaled, odd, kinds, fewer, reordered, varied, metrics_reordered, rules_doubled, renamed,
                                     lines_doubled, absolute_lines)}
