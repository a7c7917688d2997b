// Counts, one line every 200 ms. Nobody waits for the last line to see the first.
export default {
  fetch(request) {
    const count = Number(new URL(request.url).searchParams.get('count') || 5);
    const encoder = new TextEncoder();
    let sent = 0;
    const body = new ReadableStream({
      async pull(controller) {
        if (sent >= count) return controller.close();
        if (sent > 0) await new Promise((done) => setTimeout(done, 200));
        sent += 1;
        controller.enqueue(encoder.encode(`${sent}\n`));
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/plain' } });
  },
};
