/** Where `--help` or `-h` is among a benchmark's arguments, prints its usage and ends the process. */
export function printHelp(usage: string): void {
  if (!process.argv.slice(2).some((argument) => argument === '--help' || argument === '-h')) return;
  console.log(usage);
  process.exit(0);
}
