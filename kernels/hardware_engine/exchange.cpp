// SPDX-License-Identifier: Apache-2.0
#include "kernels/hardware_engine/exchange.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.hpp"

namespace paceline::hardware {
namespace {

using kernels::Buffer;
using kernels::Communicator;
using kernels::DType;
using kernels::Tensor;
using models::CollectiveOp;
using sim::Exchange;

constexpr std::size_t kAhead = 4;  ///< receives of one sender that are posted before they are due

std::size_t rounded(double bytes) { return static_cast<std::size_t>(std::ceil(bytes / 4)) * 4; }

/// Distinguishes messages of one sender that are under way together.
int tag_of(const Exchange& message) { return static_cast<int>(message.task % 32768U); }

std::unique_ptr<Buffer> zeroed(const kernels::Backend& backend, double bytes) {
  auto buffer = std::make_unique<Buffer>(backend, rounded(bytes) + 4);
  backend.fill(buffer->data(), 0, buffer->bytes());  // sums of zeros stay finite
  return buffer;
}

}  // namespace

double exchange_bytes(const RankPart& part) {
  double largest = 0, bytes = 0;
  std::map<int, double> by_sender;
  for (const RankTask& task : part.tasks)
    if (task.exchange != nullptr) largest = std::max(largest, task.exchange->bytes);
  for (const Exchange* message : part.receives) {
    double& most = by_sender[message->ranks.front()];
    most = std::max(most, message->bytes);
  }
  for (const auto& [sender, most] : by_sender) bytes += static_cast<double>(kAhead) * most;
  return bytes + 3 * largest;  // what is sent, a whole array, a share
}

Exchanges::Exchanges(const RankPart& part, const sim::TaskGraph& graph,
                     const kernels::Backend& backend, const Communicator& world)
    : backend_(backend), world_(world) {
  std::set<std::pair<sim::Stream, std::vector<int>>> groups;
  for (const RankTask& task : part.tasks) {
    if (task.deed == Deed::Send) to_.try_emplace(task.exchange->ranks.back());
    if (task.deed == Deed::Collective)
      groups.emplace(graph.tasks[task.task].stream, task.exchange->ranks);
  }
  // All ranks make groups in the same order, so none waits for another's turn.
  for (const auto& key : groups) groups_.emplace(key, kernels::group(world, key.second));
  for (const Exchange* message : part.receives) {
    const int from = message->ranks.front();
    auto peer =
        std::find_if(peers_.begin(), peers_.end(), [&](const Peer& p) { return p.rank == from; });
    if (peer == peers_.end()) {
      peer = peers_.emplace(peers_.end());
      peer->rank = from;
    }
    peer->messages.push_back(message);
  }
  if (backend.enqueues) make_ways();
  make_buffers(part);
}

Exchanges::~Exchanges() {
  for (const auto& [to, way] : to_) backend_.drop_stream(way.stream);
  for (const Peer& peer : peers_) backend_.drop_stream(peer.way.stream);
}

/// In an order that all ranks share.
void Exchanges::make_ways() {
  std::map<std::pair<int, int>, Way*> ways;
  for (auto& [to, way] : to_) ways.emplace(std::pair(world_.rank(), to), &way);
  for (Peer& peer : peers_) ways.emplace(std::pair(peer.rank, world_.rank()), &peer.way);
  for (const auto& [ends, way] : ways) {
    const int ranks[] = {ends.first, ends.second};
    way->pair.emplace(kernels::group(world_, ranks));
    way->stream = backend_.make_stream();
  }
}

void Exchanges::make_buffers(const RankPart& part) {
  double outgoing = 0, whole = 0, share = 0;
  for (const RankTask& task : part.tasks) {
    if (task.exchange == nullptr) continue;
    const Exchange& e = *task.exchange;
    if (task.deed == Deed::Send) {
      outgoing = std::max(outgoing, e.bytes);
      continue;
    }
    const auto members = static_cast<double>(e.ranks.size());
    whole = std::max(whole, e.bytes + 4 * members);
    share = std::max(share, e.bytes / members + 4);
  }
  for (Peer& peer : peers_) {
    double largest = 0;
    for (const Exchange* m : peer.messages) largest = std::max(largest, m->bytes);
    for (std::size_t i = 0; i < kAhead; ++i) peer.buffers.push_back(zeroed(backend_, largest));
    peer.requests.resize(kAhead);
  }
  outgoing_ = zeroed(backend_, outgoing);
  whole_ = zeroed(backend_, whole);
  share_ = zeroed(backend_, share);
}

Tensor Exchanges::tensor(const Buffer& buffer, double bytes) const {
  return {buffer.data(), DType::F32, static_cast<std::int64_t>(rounded(bytes) / 4)};
}

void Exchanges::begin() {
  for (Peer& peer : peers_) {
    peer.posted = peer.taken = 0;
    while (!backend_.enqueues && peer.posted < std::min(kAhead, peer.messages.size())) post(peer);
  }
}

void Exchanges::post(Peer& peer) {
  const Exchange& message = *peer.messages[peer.posted];
  const std::size_t slot = peer.posted % kAhead;
  peer.requests[slot] = kernels::irecv(world_, tensor(*peer.buffers[slot], message.bytes),
                                       peer.rank, tag_of(message));
  ++peer.posted;
}

void Exchanges::enqueue(Peer& peer) {
  const Exchange& message = *peer.messages[peer.posted++];
  kernels::recv(*peer.way.pair, tensor(*peer.buffers.front(), message.bytes), 0, 0,
                peer.way.stream);
}

bool Exchanges::take(Peer& peer) {
  if (peer.taken == peer.posted) return false;
  if (!kernels::done(peer.requests[peer.taken % kAhead])) return false;
  ++peer.taken;
  if (peer.posted < peer.messages.size()) post(peer);
  return true;
}

kernels::Stream Exchanges::stream_to(const Exchange& message) const {
  return to_.at(message.ranks.back()).stream;
}

void Exchanges::send(const Exchange& message) {
  const Tensor data = tensor(*outgoing_, message.bytes);
  const Way& way = to_.at(message.ranks.back());
  if (way.pair) return kernels::send(*way.pair, data, 1, 0, way.stream);
  sent_.push_back(kernels::isend(world_, data, message.ranks.back(), tag_of(message)));
}

void Exchanges::drop_sent() {
  std::erase_if(sent_, [](kernels::Request& request) { return kernels::done(request); });
}

void Exchanges::collective(const Exchange& exchange, sim::Stream kind, kernels::Stream stream) {
  const Communicator& members = groups_.at({kind, exchange.ranks});
  constexpr auto kSum = kernels::Reduction::Sum;
  const auto count = static_cast<double>(members.size());
  const Tensor part = tensor(*share_, exchange.bytes / count);
  Tensor all = tensor(*whole_, exchange.bytes);
  switch (exchange.op) {
    case CollectiveOp::AllReduce:
      return kernels::all_reduce(members, all, all, kSum, stream);
    case CollectiveOp::AllGather:
      all.count = part.count * members.size();
      return kernels::all_gather(members, part, all, stream);
    case CollectiveOp::ReduceScatter:
      all.count = part.count * members.size();
      return kernels::reduce_scatter(members, all, part, kSum, stream);
    case CollectiveOp::Broadcast:
      return kernels::broadcast(members, all, 0, stream);
    case CollectiveOp::AllToAll:
    case CollectiveOp::SendRecv:
    case CollectiveOp::Reduce:
      break;
  }
  throw base::Error(std::string(models::to_text(exchange.op)), "has no form that runs here");
}

void Exchanges::finish() {
  for (kernels::Request& request : sent_) kernels::wait(request);
  sent_.clear();
  for (const auto& [to, way] : to_) backend_.wait(way.stream);
  for (const Peer& peer : peers_) backend_.wait(peer.way.stream);
}

}  // namespace paceline::hardware
