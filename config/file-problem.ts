/** What is wrong with a file that the system does not let be used, in one line with the fix; undefined for other errors. */
export function problemOfFile(error: unknown): string | undefined {
  const { code, path, syscall } = error as Partial<NodeJS.ErrnoException>
  if (path === undefined || syscall === undefined) return undefined
  const isDenied = code === 'EACCES' || code === 'EPERM'
  const fix = isDenied
    ? `give it to the user that runs Gantry (${process.getuid?.() ?? 'this one'}), for example with chown`
    : 'check the free space on its disk, and the disk itself'
  return `${path} cannot be used (${syscall}: ${code}): ${fix}`
}
