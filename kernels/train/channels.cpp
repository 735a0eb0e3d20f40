// SPDX-License-Identifier: Apache-2.0
#include "kernels/train/channels.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace paceline::kernels::train {
namespace {

constexpr int kAhead = 2;  // receives posted beyond the one that is waited for

}  // namespace

Channels::Channels(Device& device, const Communicator& world, const models::Mesh& mesh,
                   const std::vector<std::pair<int, int>>& pairs, std::int64_t elements)
    : device_(device), elements_(elements) {
  const Place own = place_of(mesh, world.rank());
  for (const auto& [from, to] : pairs) {
    if (from != own.pipeline && to != own.pipeline) continue;
    const int ranks[] = {rank_of(mesh, {own.tensor, own.data, from}),
                         rank_of(mesh, {own.tensor, own.data, to})};
    Channel channel{group(world, ranks), device.backend().make_stream(), {}, {}};
    if (from == own.pipeline) {
      to_.emplace(to, std::move(channel));
    } else {
      from_.emplace(from, std::move(channel));
    }
  }
}

Channels::~Channels() {
  for (auto* side : {&to_, &from_})
    for (auto& [peer, channel] : *side) device_.backend().drop_stream(channel.stream);
}

void Channels::begin(const std::map<int, int>& incoming) {
  for (const auto& [from, count] : incoming) {
    Channel& channel = from_.at(from);
    channel.next = 0;
    channel.expected = count;
    post_until(channel, kAhead);
  }
}

void Channels::post_until(Channel& channel, int end) {
  for (; channel.next < std::min(end, channel.expected); ++channel.next) {
    Message message;
    message.data = device_.take(elements_);
    device_.wait();  // the memory may have been in use
    message.request = irecv(channel.pair, message.data.floats(), 0, 0, channel.stream);
    channel.posted.emplace(channel.next, std::move(message));
  }
}

void Channels::send(int to, Block message) {
  PACELINE_CHECK(message.count() == elements_);
  Channel& channel = to_.at(to);
  while (!channel.sent.empty() && done(channel.sent.front().request)) channel.sent.pop_front();
  device_.wait();  // it has to be there before another stream reads it
  Message sent;
  sent.data = std::move(message);
  sent.request = isend(channel.pair, sent.data.floats(), 1, 0, channel.stream);
  channel.sent.push_back(std::move(sent));
}

Block Channels::receive(int from, int number) {
  Channel& channel = from_.at(from);
  post_until(channel, number + 1 + kAhead);
  Message message = std::move(channel.posted.at(number));
  channel.posted.erase(number);
  wait(message.request);
  return std::move(message.data);
}

void Channels::end() {
  for (auto& [peer, channel] : to_) {
    for (Message& message : channel.sent) wait(message.request);
    channel.sent.clear();
  }
  for (const auto& [peer, channel] : from_)
    PACELINE_CHECK(channel.posted.empty() && channel.next == channel.expected);
}

}  // namespace paceline::kernels::train
