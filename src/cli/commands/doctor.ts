import { access, constants, mkdir, statfs } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import { formatBytes } from '../../base/bytes.ts';
import { isRocmforgeError } from '../../base/errors.ts';
import { type DeviceReport, reportDevices } from '../../node/devices.ts';
import { readHubSettings } from '../../node/hub/index.ts';
import type { CliCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { type JsonFlags, jsonOption } from '../options.ts';
import { largestFitting } from '../suggested-models.ts';
import { checkSettings, readUserSettings } from '../user-settings.ts';

/** Something about this machine: as it should be, worth knowing, or in the way. */
export interface Finding {
  readonly about: string;
  readonly state: 'ok' | 'note' | 'problem';
  readonly text: string;
  /** What to do, if there is something. */
  readonly fix?: string;
}

/** A CPU reads all weights for every token: more than this takes patience. */
const CPU_WEIGHTS = 3.5e9;

/** The oldest Node that this package runs on, as in its package.json. */
const OLDEST_NODE = [20, 20] as const;
/** With less than this on the disk, no model of use can be pulled. */
const LITTLE_DISK = 4 * 2 ** 30;

/** `rocmforge doctor`: what this machine can do, what is missing, and how to get it. */
export const doctorCommand: CliCommand<JsonFlags> = {
  options: [jsonOption()],
  examples: [
    ['doctor', 'what works here, what does not, and what to do about it'],
    ['doctor --json', 'for a bug report, or a script: exit code 1 if something is in the way'],
  ],
  async run({ flags }, { output, tree }) {
    const reports = await reportDevices();
    const findings = [
      nodeFinding(process.versions.node),
      ...reports.map(deviceFinding),
      ...kernelFindings(reports),
      ...modelFindings(reports),
      ...(await cacheFindings(await readHubSettings())),
      ...settingFindings(await tree()),
    ];
    const isFine = !findings.some(({ state }) => state === 'problem');
    if (flags.json) {
      await output.json({ ok: isFine, findings });
    } else {
      for (const { about, state, text, fix } of findings) {
        const mark = { ok: 'ok', note: '-', problem: 'PROBLEM' }[state];
        await output.line(`${mark.padEnd(9)}${about.padEnd(10)}${text}`);
        if (fix !== undefined) await output.line(`${' '.repeat(19)}fix: ${fix}`);
      }
    }
    return isFine ? EXIT.ok : EXIT.failure;
  },
};

/** Whether this Node is new enough. */
export function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [least, leastMinor] = OLDEST_NODE;
  const text = `Node ${version} on ${process.platform}-${process.arch}`;
  if (major > least || (major === least && minor >= leastMinor)) return { about: 'node', state: 'ok', text };
  const fix = 'install Node 22 or newer: https://nodejs.org/en/download';
  return { about: 'node', state: 'problem', text: `${text}: too old, 20.20 is needed`, fix };
}

/** A device: that it can be used, or why not. Only the CPU has to be there. */
export function deviceFinding({
  device: about,
  backend,
  name,
  memory,
  details,
  error,
}: DeviceReport): Finding {
  if (error !== undefined) {
    const isNeeded = backend === 'cpu';
    return { about, state: isNeeded ? 'problem' : 'note', text: error };
  }
  const free = memory ? `, ${formatBytes(memory.free)} free of ${formatBytes(memory.total)}` : '';
  const compiler = String(details?.compiler ?? '');
  if (!/not found/.test(compiler)) return { about, state: 'ok', text: `${name}${free}` };
  const fix =
    backend === 'cuda'
      ? 'pip install nvidia-cuda-nvrtc'
      : 'install hipRTC with ROCm: https://rocm.docs.amd.com/projects/install-on-linux';
  return { about, state: 'problem', text: `${name}${free}, but its compiler is missing: ${compiler}`, fix };
}

/** Whether the CPU runs at its full speed. */
export function kernelFindings(reports: readonly DeviceReport[]): Finding[] {
  const kernels = reports.find(({ backend }) => backend === 'cpu')?.details?.kernels;
  if (typeof kernels !== 'string') return [];
  const text = `${kernels} kernels`;
  if (kernels.startsWith('native')) return [{ about: 'cpu', state: 'ok', text }];
  const fix = { linux: 'sudo apt install g++', darwin: 'xcode-select --install' }[process.platform as string];
  const slower = `${text}: native ones are faster, and need a C++ compiler or the package for this platform`;
  return [{ about: 'cpu', state: 'note', text: slower, ...(fix !== undefined && { fix }) }];
}

/** A well-known model that suits the best device. */
export function modelFindings(reports: readonly DeviceReport[]): Finding[] {
  const best = reports.find(({ error, memory }) => error === undefined && memory !== undefined);
  if (!best?.memory) return [];
  const { free } = best.memory;
  const model = largestFitting(best.backend === 'cpu' ? Math.min(free, CPU_WEIGHTS) : free);
  const text = model
    ? `on ${best.device}, try ${model.parameters} billion weights: rocmforge chat hf:${model.repo}`
    : `no well-known model fits into ${formatBytes(free)} of ${best.device}`;
  return [{ about: 'models', state: model ? 'ok' : 'note', text }];
}

/** Where models are kept, and what pulling them needs. */
async function cacheFindings({
  cache,
  token,
  offline,
  endpoint,
}: Awaited<ReturnType<typeof readHubSettings>>): Promise<Finding[]> {
  const about = 'cache';
  try {
    await mkdir(cache, { recursive: true });
    await access(cache, constants.W_OK);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const fix = `make ${existingAbove(cache)} writable, or name another folder in HF_HUB_CACHE`;
    return [{ about, state: 'problem', text: `${cache} cannot be written: ${reason}`, fix }];
  }
  const { bavail, bsize } = await statfs(cache);
  const free = bavail * bsize;
  const text = `${cache}, ${formatBytes(free)} free`;
  const isLittle = free < LITTLE_DISK;
  const fix = 'rocmforge du shows what models take, rocmforge rm removes them';
  const disk: Finding = isLittle ? { about, state: 'note', text, fix } : { about, state: 'ok', text };
  const key = token === undefined ? 'without a token: gated models need HF_TOKEN' : 'with a token';
  const hub = offline ? 'HF_HUB_OFFLINE is set: nothing is pulled' : `${endpoint}, ${key}`;
  return [disk, { about: 'hub', state: offline ? 'note' : 'ok', text: hub }];
}

function existingAbove(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : existingAbove(dirname(path));
}

/** What the config file and the environment set. */
export function settingFindings(program: Command, env: NodeJS.ProcessEnv = process.env): Finding[] {
  const about = 'settings';
  try {
    const { path, settings } = readUserSettings(env);
    const ignored = checkSettings(program, settings);
    const text = `${settings.length - ignored.length} set: rocmforge config shows them (${path})`;
    const unknown = ignored.map((variable): Finding => {
      return { about, state: 'note', text: `${variable} sets nothing`, fix: `unset ${variable}` };
    });
    return [{ about, state: 'ok', text }, ...unknown];
  } catch (error) {
    if (!isRocmforgeError(error)) throw error;
    return [{ about, state: 'problem', text: error.message, fix: error.fix }];
  }
}
