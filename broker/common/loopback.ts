const loopbackName = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** Whether the host of a URL is this machine, by its name alone. */
export const isLoopbackName = (host: string): boolean => loopbackName.test(host)

const loopbackAddress = /^(?:::ffff:)?127\.|^::1$/

/** Whether an address of a connection is this machine. */
export const isLoopbackAddress = (address: string): boolean => loopbackAddress.test(address)
