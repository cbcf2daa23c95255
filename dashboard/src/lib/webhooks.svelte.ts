// Whether this server has webhooks.
import { get } from './api';
import type { Webhook } from './types';

class Webhooks {
  available = $state(false);
  all = $state.raw<Webhook[]>([]);

  async find(): Promise<void> {
    try {
      this.all = (await get<{ data: Webhook[] }>('/v2/webhooks')).data;
      this.available = true;
    } catch {
      this.available = false;
    }
  }
}

export const webhooks = new Webhooks();
