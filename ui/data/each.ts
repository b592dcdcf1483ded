import type { Contract, Input } from '../../subjects/kit/contract.ts'
import { useSession } from './session-context.ts'

/** Has something done to several objects, each by itself: what one is refused, the others are not. */
export function useEach() {
  const session = useSession()
  return <C extends Contract>(contract: C, inputs: readonly Input<C>[]) =>
    Promise.allSettled(inputs.map((input) => session.call(contract, input)))
}
