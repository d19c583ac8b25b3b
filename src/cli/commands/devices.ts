import { formatBytes } from '../../base/bytes.ts';
import { type DeviceReport, reportDevices } from '../../node/devices.ts';
import type { CliCommand } from '../command.ts';
import { type JsonFlags, jsonOption } from '../options.ts';

/** `rocmforge devices`: the devices of this machine. */
export const devicesCommand: CliCommand<JsonFlags> = {
  options: [jsonOption()],
  examples: [
    ['devices', 'the devices of this machine'],
    ['devices --json', 'the same as JSON'],
  ],
  async run({ flags }, { output }) {
    const reports = await reportDevices();
    if (flags.json) await output.json(reports);
    else for (const report of reports) await output.write(describe(report));
    return undefined;
  },
};

function describe({ device, name, details, memory, error }: DeviceReport): string {
  if (error !== undefined) return `${device}: not available: ${error}\n`;
  const lines = [`${device}: ${name}`];
  if (memory) lines.push(`  memory  ${formatBytes(memory.free)} free of ${formatBytes(memory.total)}`);
  for (const [key, value] of Object.entries(details ?? {})) lines.push(`  ${key}  ${value}`);
  return `${lines.join('\n')}\n`;
}
