import type { Contract, Input } from '../../subjects/kit/contract.ts'
import { isGantryError, invalid } from '../../subjects/kit/errors.ts'
import { contentsOf, type Further, type Part } from '../../subjects/kit/download.ts'
import { product } from '../../subjects/kit/names.ts'
import { contracts } from '../../subjects/index.ts'
import { nearest } from '../../subjects/kit/nearest.ts'
import { namesOf } from '../completion/names.ts'
import { endedJob, endedState } from './job-end.ts'
import { isMaking, listedBy } from './lists.ts'
import type { RunContract } from './contract-command.ts'
import { type Context, type Globals, withSession } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { withFix, withFlags } from '../failure.ts'
import { confirm } from '../confirm.ts'
import { wantedOf } from '../output/form.ts'
import { filled, present } from '../output/present.ts'
import type { Session } from '../sign-in/session.ts'
import type { Terminal } from '../output/terminal.ts'
import type { Shape } from '../output/shape.ts'
import { inputOf } from '../output/values.ts'

/** Asks, on the caller's connection. */
type Ask = (session: Session, contract: Contract, input: Input<Contract>) => Promise<unknown>

/** Reads the input, calls the capability with the caller's token, and shows the reply. */
export const callContract =
  (context: Context, ask: Ask = askAll): RunContract =>
  async (contract, shape, given, command) => {
    const globals = command.optsWithGlobals<Globals & { yes?: true; wait?: true }>()
    const wanted = wantedOf(globals)
    const input = await inputOf(contract, shape, given, context)
    requireNeeded(contract, shape, input)
    const { confirms } = contract.cli ?? {}
    if (confirms !== undefined) await confirm(context, filled(confirms, input), globals.yes === true)
    let reply: unknown
    try {
      if (contract.download !== undefined) {
        await withSession(context, globals, (session) => download(context.terminal, session, contract, input))
        return
      }
      reply = await withSession(context, globals, async (session) => {
        if (isAboutOwnKey(contract, input, session))
          await confirm(context, ownKeyWarning, globals.yes === true)
        const first = await ask(session, contract, input)
        return globals.wait === true ? endOf(session, context.terminal, contract, first) : first
      })
    } catch (error) {
      throw await withList(context, globals, withFlags(error, shape, given), contract)
    }
    const isWrong = globals.wait === true ? !hasEndedWell(contract, reply) : isFailure(contract, reply)
    present(context.terminal, contract, reply, { ...wanted, input, isWrong })
    if (isWrong) context.exitCode = exitCodes.failed.status
  }

/**
 * Services take a request without a field that is needed for its default, and then refuse that: here it was forgotten.
 * @throws GantryError INVALID_INPUT that names all that is missing
 */
function requireNeeded({ cli }: Contract, shape: Shape, input: Input<Contract>): void {
  const fields = input as Readonly<Record<string, unknown>>
  const isMissing = (name: string) => fields[name] === undefined
  if (cli?.needed?.some(isMissing) !== true) return
  const missing = [...shape.args, ...shape.flags].filter(({ name, required }) => required && isMissing(name))
  const problems = missing.map(({ name }) => ({ field: name, problem: 'is required' }))
  throw withFlags(invalid(problems), shape)
}

/** What is not there, or is there already, with the command that shows what there is, unless the service has named one. */
async function withList(
  context: Context,
  globals: Globals,
  error: unknown,
  { resource, verb }: Contract,
): Promise<unknown> {
  if (!isGantryError(error, 'NOT_FOUND') && !isGantryError(error, 'ALREADY_EXISTS')) return error
  // What is attached already needs no other name.
  if (error.code === 'ALREADY_EXISTS' && !isMaking(verb)) return error
  const list = listedBy(error.message, resource)
  if (list === undefined || error.message.includes(`"${product} `)) return error
  const fix = `see "${product} ${list.command}"`
  if (error.code !== 'NOT_FOUND') return withFix(error, `choose another name, or ${fix}`)
  const meant =
    list.missing && nearest(list.missing.name, await namesOf(context, globals, list.missing.names))
  return withFix(error, meant === undefined ? fix : `did you mean ${meant}? Otherwise, ${fix}`)
}

const ownKeyWarning = `This is the key that you are using. It will lose permissions and cannot restore them. "${product} credential recover" restores only the operator key of a configuration folder.`

/** Whether the key that asks would take something from itself. */
function isAboutOwnKey({ cli }: Contract, input: Input<Contract>, { keyId }: Session): boolean {
  const { confirmOwn } = cli ?? {}
  const fields = input as Readonly<Record<string, unknown>>
  if (confirmOwn === undefined || fields[confirmOwn.key] !== keyId) return false
  return confirmOwn.with === undefined || fields[confirmOwn.with] !== undefined
}

/** Whether the reply itself says that something is wrong. */
const isFailure = ({ cli }: Contract, reply: unknown): boolean =>
  cli?.failed !== undefined &&
  (reply as Readonly<Record<string, unknown>>)[cli.failed.field] === cli.failed.is

/** What a reply is, or has begun, as it has ended. */
async function endOf(
  session: Session,
  terminal: Terminal,
  { resource, cli }: Contract,
  reply: unknown,
): Promise<unknown> {
  const { by, ...waits } = cli!.waits!
  const get = contracts.find((one) => one.resource === resource && one.verb === waits.verb)!
  if ('while' in waits) return endedState(session, terminal, reply, get, { by, ...waits.while })
  return endedJob(session, terminal, reply, get, { [by]: (reply as { readonly id: string }).id })
}

function hasEndedWell(contract: Contract, reply: unknown): boolean {
  const waits = contract.cli!.waits!
  if ('while' in waits) return !isFailure(contract, reply)
  const job = reply as Readonly<Record<string, unknown>>
  return job['status'] === 'COMPLETE' && waits.zero.every((name) => job[name] === 0)
}

/** The reply, once it is the last word. */
async function askAll(session: Session, contract: Contract, input: Input<Contract>): Promise<unknown> {
  const reply = await session.call(contract, input)
  const { again } = contract.cli ?? {}
  const known = reply as Readonly<Record<string, unknown>>
  if (again === undefined || known[again.while.field] !== again.while.is) return reply
  return askAll(session, contract, Object.assign({}, input, { [again.field]: known[again.field] }))
}

/** Writes the whole text as it is, whatever form replies are asked for in. */
async function download(
  terminal: Terminal,
  session: Session,
  contract: Contract,
  input: Input<Contract>,
): Promise<void> {
  const ask = async (more: Partial<Further>) =>
    // The contract says that its replies are parts.
    (await session.call(contract, Object.assign({}, input, more))) as Part
  for await (const text of contentsOf(await ask({}), ask, contract.download?.by)) terminal.out(text)
}
