import type { ServerResponse } from 'node:http';
import { abortableSleep } from '../kernel/abortable-sleep.ts';
import { createAuthentication, type ReceivedCall } from './authentication/authenticate.ts';
import { type Answer, refuse } from './sandbox-answer.ts';
import { createFaultPicker, delayOf, isMatched } from './sandbox-faults.ts';
import { createRoutes } from './sandbox-routes.ts';
import {
  createPaceWatch,
  createRateLimit,
  type EndpointPath,
  type SandboxStats,
} from './sandbox-stats.ts';
import type { SandboxWallet } from './sandbox-wallets.ts';
import { sendAnswer, sendFault } from './send-answer.ts';

export type Call = ReceivedCall & { query: URLSearchParams };

export const basePath = '/api';

/** Creates the function that answers the requests of one wallet. `closing` ends delays when the sandbox closes. */
export function createWalletService(wallet: SandboxWallet, closing: AbortSignal) {
  const { options, credentials, world, stats, faults, answers } = wallet;
  const routes = createRoutes(world, options);
  const refusalOf = createAuthentication(options, credentials, stats);
  const isWithinRate = createRateLimit(options.rate, options.clock);
  const notePace = createPaceWatch(stats, options.clock);
  const pickFault = createFaultPicker(options.seed, faults);

  // Authenticates first, so that a nonce is used up even if the request fails later.
  function gate(call: Call): Answer | null {
    const refusal = refusalOf(call);
    if (refusal !== null) return refuse(refusal);
    if (isWithinRate()) return null;
    stats.tooManyRequests++;
    return refuse('too-many-requests');
  }

  return async (call: Call, response: ServerResponse): Promise<void> => {
    const delayMs = delayOf(faults, call.path, options.latencyMs);
    if (delayMs > 0) await abortableSleep(delayMs, closing);
    const path = call.path.slice(basePath.length);
    const isOurs = call.path.startsWith(`${basePath}/`) && Object.hasOwn(routes, path);
    const endpoint = path as EndpointPath;
    const route = isOurs ? routes[endpoint] : null;
    if (route?.method !== call.method) return sendAnswer(response, refuse('path-unknown'));
    notePace();
    countRequest(stats, endpoint, call.query.get(options.paramNames.type));
    const refusal = gate(call);
    if (refusal !== null) return sendAnswer(response, refusal);

    const work = (): Answer => {
      const totalError = isMatched(faults, call.path) ? faults.totalError : 0;
      const answer = route.answer({ ...call, totalError });
      return answers.get(endpoint) ?? answer;
    };
    const fault = pickFault(call);
    if (fault === null) return sendAnswer(response, work());
    stats.faults[fault]++;
    await sendFault(response, fault, { work, hangMs: faults.hangMs, closing });
  };
}

function countRequest(stats: SandboxStats, endpoint: EndpointPath, type: string | null) {
  stats.requests[endpoint]++;
  if (endpoint !== '/v1/transaction/list') return;
  stats.listRequests[type === 'deposit' || type === 'withdraw' ? type : 'all']++;
}
