import { whyMissing } from './provide.ts'
import { testUnless } from './unless.ts'

/** A test with a Python that `python.setup.ts` has made ready. @param work is given its path */
const testWith =
  (variable: string) =>
  (name: string, work: (python: string) => Promise<void>, timeoutMs?: number): void =>
    testUnless(whyMissing(variable), name, () => work(process.env[variable]!), timeoutMs)

/** With nats-py and the schema of OpenTelemetry. */
export const pythonTest = testWith('PYTHON_FOR_PEERS')
/** With schemathesis. */
export const schemathesisTest = testWith('PYTHON_FOR_SCHEMATHESIS')
