import type { FastifyRequest } from 'fastify'
import { type AddressMarks, plainAddress } from '../../broker/messages/client-address.ts'
import type { Contract } from '../../subjects/kit/contract.ts'

/** Where a request comes from, for the service that answers it: the broker sees the edge as the client. */
export const markedAddress = (
  marks: AddressMarks,
  { subject }: Contract,
  { ip, id }: FastifyRequest,
): { markedAddress: string } => ({ markedAddress: marks.mark(plainAddress(ip), subject, id) })
