import { testUnless } from './unless.ts'

/** A test with a Python that `python.setup.ts` has made ready. @param work is given its path */
const testWith =
  (environment: string) =>
  (name: string, work: (python: string) => Promise<void>, timeoutMs?: number): void => {
    const python = process.env[`${environment}_FOR_PEERS`]
    const missing = process.env[`${environment}_MISSING`] ?? 'it was not looked for'
    testUnless(python === undefined ? missing : undefined, name, () => work(python!), timeoutMs)
  }

/** With nats-py and the schema of OpenTelemetry. */
export const pythonTest = testWith('PYTHON')
/** With schemathesis. */
export const schemathesisTest = testWith('SCHEMATHESIS')
