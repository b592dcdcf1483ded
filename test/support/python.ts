import { testUnless } from './unless.ts'

const program = process.env['PYTHON_FOR_PEERS']
const missing = process.env['PYTHON_MISSING'] ?? 'it was not looked for'

/** A test with a real Python that has what `python.setup.ts` installs. @param work is given its path */
export const pythonTest = (name: string, work: (program: string) => Promise<void>): void =>
  testUnless(program === undefined ? missing : undefined, name, () => work(program!))
